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

add_library(assay_options INTERFACE)
target_include_directories(assay_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(assay_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wswitch-enum
  $<$<BOOL:${ASSAY_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns about moved-from std::variant alternatives that are never read, and about
  # overlapping copies inside `"literal" + std::string` (GCC bug 105651).
  target_compile_options(assay_options INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
else()
  # clang sees std::stable_sort of libstdc++ 12 call what C++17 deprecated.
  target_compile_options(assay_options INTERFACE -Wno-deprecated-declarations)
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
