# `cmake --install` puts libcrossdock.a, the public headers and a package file in place for find_package(crossdock).
if(NOT TARGET crossdock)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/crossdock")
install(TARGETS crossdock EXPORT crossdock-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
target_link_options(crossdock INTERFACE
  "$<INSTALL_INTERFACE:-Wl,-rpath,$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}>")
# A program finds its plugins beside itself, in this folder (which it was linked with), where the system looks for
# libraries, or in $CROSSDOCK_PLUGINS.
get_property(plugins GLOBAL PROPERTY CROSSDOCK_PLUGINS)
foreach(plugin IN LISTS plugins)
  install(TARGETS ${plugin} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endforeach()
install(EXPORT crossdock-targets NAMESPACE crossdock:: DESTINATION "${package_folder}")
configure_package_config_file(cmake/crossdock-config.cmake.in "${PROJECT_BINARY_DIR}/crossdock-config.cmake"
  INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/crossdock-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/crossdock-config.cmake" "${PROJECT_BINARY_DIR}/crossdock-config-version.cmake"
  cmake/FindXxhash.cmake cmake/FindRe2.cmake cmake/FindHwloc.cmake DESTINATION "${package_folder}")
