# SPDX-License-Identifier: MIT
# Installs headers, the library, oneDNN beside it, and the CMake package.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/traingraph")

install(TARGETS traingraph EXPORT traingraphTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT traingraphTargets NAMESPACE traingraph::
  DESTINATION "${package_dir}")

configure_package_config_file(cmake/traingraphConfig.cmake.in
  "${PROJECT_BINARY_DIR}/traingraphConfig.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/traingraphConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/traingraphConfig.cmake"
  "${PROJECT_BINARY_DIR}/traingraphConfigVersion.cmake"
  DESTINATION "${package_dir}")

# oneDNN under the one name by which the library asks for it. A distribution's
# own oneDNN is left where it is: its packages depend on each other.
option(TRAINGRAPH_BUNDLE_ONEDNN "Install oneDNN beside the library" ON)
get_target_property(onednn_type DNNL::dnnl TYPE)
if(TRAINGRAPH_BUNDLE_ONEDNN AND onednn_type STREQUAL "SHARED_LIBRARY")
  install(FILES "$<TARGET_FILE:DNNL::dnnl>"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    RENAME "$<TARGET_SONAME_FILE_NAME:DNNL::dnnl>"
    PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
      WORLD_READ WORLD_EXECUTE)
  cmake_path(SET onednn_doc NORMALIZE "${dnnl_DIR}/../../../share/doc/onednn")
  install(FILES "${onednn_doc}/LICENSE" "${onednn_doc}/THIRD-PARTY-PROGRAMS"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/onednn" OPTIONAL)
endif()
