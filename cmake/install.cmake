# `cmake --install`, `find_package(assay)` and the Debian packages of `cpack`.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY ASSAY_LIBRARIES)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/assay)
set(ASSAY_PYTHON_DIR ${CMAKE_INSTALL_DATADIR}/assay)

# The program, with what a user records failures with.
install(TARGETS assay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(FILES samples/record/assay_record.py DESTINATION ${ASSAY_PYTHON_DIR} COMPONENT program)
install(DIRECTORY samples/replication_pad_channels_last samples/padded_storage
        DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/samples COMPONENT program)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
foreach(shell_and_file bash:bash-completion/completions/assay zsh:zsh/vendor-completions/_assay
                       fish:fish/vendor_completions.d/assay.fish)
  string(REPLACE ":" ";" parts ${shell_and_file})
  list(GET parts 0 shell)
  list(GET parts 1 file)
  set(script ${PROJECT_BINARY_DIR}/completion/${shell})
  add_custom_command(OUTPUT ${script} DEPENDS assay
                     COMMAND assay completion ${shell} > ${script} VERBATIM)
  list(APPEND completions ${script})
  get_filename_component(folder ${file} DIRECTORY)
  get_filename_component(file_name ${file} NAME)
  install(FILES ${script} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} RENAME ${file_name}
          COMPONENT program)
endforeach()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completion)
add_custom_target(completions ALL DEPENDS ${completions})

# The libraries: static, each with the headers of its folders.
foreach(library IN LISTS libraries)
  install(TARGETS ${library} EXPORT assayTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/assay COMPONENT libraries
          FILE_SET headers DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/assay COMPONENT libraries)
endforeach()
set_target_properties(assay_options PROPERTIES EXPORT_NAME options)
install(TARGETS assay_options EXPORT assayTargets)
install(EXPORT assayTargets NAMESPACE assay:: DESTINATION ${config_dir} COMPONENT libraries)
configure_package_config_file(cmake/assayConfig.cmake.in ${PROJECT_BINARY_DIR}/assayConfig.cmake
                              INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/assayConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/assayConfig.cmake ${PROJECT_BINARY_DIR}/assayConfigVersion.cmake
        DESTINATION ${config_dir} COMPONENT libraries)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "Assay")
set(CPACK_PACKAGE_CONTACT "Assay maintainers <maintainers@assay.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "tells fake from real in captured tensor graphs")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL program libraries)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME assay)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_NAME libassay-dev)
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_DEPENDS
    "libfmt-dev, libopenblas-dev, libsimdjson-dev, libzip-dev, libssl-dev, zlib1g-dev, libsqlite3-dev, libz3-dev, pkg-config")
include(CPack)
