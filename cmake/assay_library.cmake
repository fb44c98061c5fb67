# assay_library(NAME DIRS a b ... DEPS ... PRIVATE_DEPS ... [PCH header ... | PCH_OF library] [COLD])
# A static library of all .cpp files in the given sub-folders (relative to the calling list file).
# PCH: headers of ours to precompile for it, beside the common ones; PCH_OF: the same as that library.
# COLD: see assay_cold.
function(assay_library name)
  cmake_parse_arguments(ARG "COLD" "PCH_OF" "DIRS;DEPS;PRIVATE_DEPS;PCH" ${ARGN})
  set(sources)
  set(headers)
  foreach(dir IN LISTS ARG_DIRS)
    file(GLOB dir_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.cpp)
    file(GLOB dir_headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.h)
    list(APPEND sources ${dir_sources})
    list(APPEND headers ${dir_headers})
  endforeach()
  add_library(${name} STATIC ${sources} ${headers})
  target_link_libraries(${name} PUBLIC assay_options ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  # Each header must compile on its own.
  target_sources(${name} PUBLIC FILE_SET headers TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                 FILES ${headers})
  set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  assay_precompile(${name} "${ARG_PCH_OF}" ${ARG_PCH})
  if(ARG_COLD)
    assay_cold(${name})
  endif()
  string(REPLACE "assay_" "" short_name ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${short_name})
  set_property(GLOBAL APPEND PROPERTY ASSAY_LIBRARIES ${name})
endfunction()

# Parsing headers is half of the time to compile a file of ours.
function(assay_precompile name same_as)
  if(NOT ASSAY_PCH)
    return()
  endif()
  if(same_as)
    target_precompile_headers(${name} REUSE_FROM ${same_as})
  else()
    list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/)
    target_precompile_headers(${name} PRIVATE
      <algorithm> <array> <charconv> <cmath> <complex> <cstdint> <expected> <functional>
      <limits> <map> <memory> <numeric> <optional> <set> <span> <string> <string_view> <tuple>
      <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h> ${ARGN})
  endif()
endfunction()

# Code that runs once for each input, node or line of a report, not for each element or question: it is
# optimised lightly, which takes two fifths less time to compile and costs nothing that one notices.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(ASSAY_COLD_OPTIONS $<$<CONFIG:Release,RelWithDebInfo>:-Og>)
endif()
function(assay_cold name)
  target_compile_options(${name} PRIVATE ${ASSAY_COLD_OPTIONS})
endfunction()

# The same for the files of a folder, relative to the calling list file, but those named behind it.
function(assay_cold_but dir)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.cpp)
  foreach(hot IN LISTS ARGN)
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/${hot}.cpp)
  endforeach()
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${ASSAY_COLD_OPTIONS}")
endfunction()
