# The libraries that every build needs. All that are missing are named at once, as each distribution calls them.
set(crossdock_missing "")

# crossdock_require(<package of CMake> <least version> <what it is for> <Debian and Ubuntu> <Fedora> <Arch>)
function(crossdock_require package version purpose debian fedora arch)
  find_package(${package} ${version} QUIET)
  if(NOT ${package}_FOUND)
    string(STRIP "${package} ${version}" name)
    list(APPEND crossdock_missing
      "${name} (${purpose})\n    Debian, Ubuntu: ${debian}\n    Fedora: ${fedora}\n    Arch: ${arch}")
    set(crossdock_missing "${crossdock_missing}" PARENT_SCOPE)
  endif()
endfunction()

find_package(Threads REQUIRED)
crossdock_require(fmt 9 "formatting" libfmt-dev fmt-devel fmt)
crossdock_require(hwy 1.0 "SIMD kernels chosen at run time" libhwy-dev highway-devel highway)
crossdock_require(Xxhash "" "hashing of strings" libxxhash-dev xxhash-devel xxhash)
crossdock_require(Re2 "" "regular expressions" libre2-dev re2-devel re2)
crossdock_require(Hwloc "" "CPUs, GPUs, NICs and the PCIe tree" libhwloc-dev hwloc-devel hwloc)
crossdock_require(nlohmann_json 3.11 "plans and profiles as JSON" nlohmann-json3-dev json-devel nlohmann-json)
if(crossdock_missing)
  list(JOIN crossdock_missing "\n  " crossdock_missing)
  message(FATAL_ERROR "Crossdock needs libraries that were not found. Install, then configure again:\n  ${crossdock_missing}\n"
    "A library in a place of its own is found through CMAKE_PREFIX_PATH.")
endif()
