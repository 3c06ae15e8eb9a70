# `cmake --install` puts libcrossdock.a, the public headers and a package file in place for find_package(crossdock).
if(NOT TARGET crossdock)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/crossdock")
install(TARGETS crossdock EXPORT crossdock-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT crossdock-targets NAMESPACE crossdock:: DESTINATION "${package_folder}")
configure_package_config_file(cmake/crossdock-config.cmake.in "${PROJECT_BINARY_DIR}/crossdock-config.cmake"
  INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/crossdock-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/crossdock-config.cmake" "${PROJECT_BINARY_DIR}/crossdock-config-version.cmake"
  cmake/FindXxhash.cmake cmake/FindHwloc.cmake DESTINATION "${package_folder}")
