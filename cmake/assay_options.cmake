# Language level, warnings and sanitizers: one interface target that every library of ours links.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(ASSAY_SANITIZE "" CACHE STRING "comma-separated sanitizers, e.g. address,undefined")
option(ASSAY_WERROR "treat warnings as errors" ON)
option(ASSAY_FUZZ "build libFuzzer targets instead of tests (clang only)" OFF)
option(ASSAY_GUI "build the viewer" ON)
option(ASSAY_PCH "precompile headers; without, each file must include what it uses" ON)

# -O3 buys kernels nothing that -O2 and the BLAS do not have, and costs a fifth of the build time.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# Lines and functions, for traces of the stack: what debuggers know of variables costs a fifth more.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

add_library(assay_options INTERFACE)
target_include_directories(assay_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/assay>)
target_compile_features(assay_options INTERFACE cxx_std_23)
add_library(assay_warnings INTERFACE)  # for our own files, not for those who link us
target_link_libraries(assay_options INTERFACE $<BUILD_INTERFACE:assay_warnings>)
target_compile_options(assay_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wswitch-enum
  $<$<BOOL:${ASSAY_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns about moved-from std::variant alternatives that are never read, and about
  # overlapping copies inside `"literal" + std::string` (GCC bug 105651).
  target_compile_options(assay_warnings INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
  # The compiler collects its garbage above so many KiB; a file of ours needs 300 MB in all.
  target_compile_options(assay_warnings INTERFACE --param=ggc-min-heapsize=400000)
else()
  # clang sees std::stable_sort of libstdc++ 12 call what C++17 deprecated.
  target_compile_options(assay_warnings INTERFACE -Wno-deprecated-declarations)
endif()
if(ASSAY_SANITIZE)
  target_compile_options(assay_options INTERFACE
    -fsanitize=${ASSAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(assay_options INTERFACE -fsanitize=${ASSAY_SANITIZE})
endif()
if(ASSAY_FUZZ)
  target_compile_options(assay_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(ASSAY_CCACHE ccache)
if(ASSAY_CCACHE)
  # Without this ccache keeps nothing that was compiled with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${ASSAY_CCACHE})
endif()
