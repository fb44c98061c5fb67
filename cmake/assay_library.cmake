# assay_library(NAME DIRS a b ... DEPS ... PRIVATE_DEPS ...)
# A static library of all .cpp files in the given sub-folders (relative to the calling list file).
function(assay_library name)
  cmake_parse_arguments(ARG "" "" "DIRS;DEPS;PRIVATE_DEPS" ${ARGN})
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
endfunction()
