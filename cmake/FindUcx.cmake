# Finds UCX, whose own CMake package Debian leaves out, as the target Ucx::ucp.
find_path(Ucx_INCLUDE_DIR ucp/api/ucp.h)
find_library(Ucx_ucp_LIBRARY NAMES ucp)
find_library(Ucx_ucs_LIBRARY NAMES ucs)
mark_as_advanced(Ucx_INCLUDE_DIR Ucx_ucp_LIBRARY Ucx_ucs_LIBRARY)
if(Ucx_INCLUDE_DIR)
  file(STRINGS "${Ucx_INCLUDE_DIR}/ucp/api/ucp_version.h" ucx_lines REGEX "define UCP_API_M")
  string(REGEX REPLACE ".*UCP_API_MAJOR +([0-9]+).*UCP_API_MINOR +([0-9]+).*" "\\1.\\2" Ucx_VERSION "${ucx_lines}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Ucx REQUIRED_VARS Ucx_ucp_LIBRARY Ucx_ucs_LIBRARY Ucx_INCLUDE_DIR
  VERSION_VAR Ucx_VERSION)
if(Ucx_FOUND AND NOT TARGET Ucx::ucp)
  add_library(Ucx::ucp UNKNOWN IMPORTED)
  set_target_properties(Ucx::ucp PROPERTIES IMPORTED_LOCATION "${Ucx_ucp_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Ucx_INCLUDE_DIR}" INTERFACE_LINK_LIBRARIES "${Ucx_ucs_LIBRARY}")
endif()
