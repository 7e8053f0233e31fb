# SPDX-License-Identifier: MIT
# Installs headers, the library, its CPU engine beside it, and the CMake package.
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

# oneDNN beside the library: our copy of it, or under the one name by which the
# library asks for it. A distribution's own oneDNN is left where it is: its
# packages depend on each other.
option(TRAINGRAPH_BUNDLE_ONEDNN "Install oneDNN beside the library" ON)
if(TRAINGRAPH_ONEDNN_ON_THREAD_POOL)
  set(onednn_file "${onednn_copy}")
  set(onednn_name libtraingraph_onednn.so)
elseif(TRAINGRAPH_CPU_ENGINE STREQUAL "onednn" AND TRAINGRAPH_BUNDLE_ONEDNN AND
    onednn_type STREQUAL "SHARED_LIBRARY")
  set(onednn_file "$<TARGET_FILE:DNNL::dnnl>")
  set(onednn_name "$<TARGET_SONAME_FILE_NAME:DNNL::dnnl>")
endif()
if(onednn_file)
  install(FILES "${onednn_file}" DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    RENAME "${onednn_name}"
    PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
      WORLD_READ WORLD_EXECUTE)
  cmake_path(SET onednn_doc NORMALIZE "${dnnl_DIR}/../../../share/doc/onednn")
  install(FILES "${onednn_doc}/LICENSE" "${onednn_doc}/THIRD-PARTY-PROGRAMS"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/onednn" OPTIONAL)
endif()
if(TRAINGRAPH_ONEDNN_ON_THREAD_POOL)
  install(FILES cmake/onednn_changes.txt
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/onednn" RENAME CHANGES)
endif()
if(cblas_package_library)
  # PyPI's OpenBLAS, whose names no other library has.
  install(FILES "${cblas_package_library}"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
      WORLD_READ WORLD_EXECUTE)
  install(FILES ${cblas_licenses}
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/openblas")
endif()
if(json_license)
  install(FILES ${json_license}
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/nlohmann-json")
endif()
