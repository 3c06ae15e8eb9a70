# The Python module crossdock._native, installed beside the Python sources of the package. scikit-build-core sets
# CROSSDOCK_PYTHON and places what is installed here into the wheel. Its types are written by hand, with their meaning,
# in python/crossdock/_native.pyi, which tests/tools/test_native_stub.py compares with the built module. Likewise
# crossdock._control. From Python 3.12 on, scikit-build-core asks for the stable interface: one build serves all later ones.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})
execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

file(GLOB_RECURSE bindings CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/bindings/*.cpp")
set(left_out "_nodevice\\.cpp$")
if(NOT crossdock_devices)
  set(left_out "bindings/device\\.cpp$")
endif()
list(FILTER bindings EXCLUDE REGEX "${left_out}")
if(NOT bindings)
  message(STATUS "No Python bindings yet")
  return()
endif()
nanobind_add_module(_native STABLE_ABI NB_STATIC ${bindings})
crossdock_warnings(_native PRIVATE)
crossdock_unity(_native 8)
crossdock_precompile(_native std)
foreach(nanobind nanobind-static nanobind-static-abi3)
  if(TARGET ${nanobind})
    set_target_properties(${nanobind} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
endforeach()
target_include_directories(_native PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/python")
get_property(rooms GLOBAL PROPERTY CROSSDOCK_ROOMS)
list(TRANSFORM rooms PREPEND crossdock_)
target_link_libraries(_native PRIVATE ${rooms})
target_compile_definitions(_native PRIVATE CROSSDOCK_VERSION="${PROJECT_VERSION}" CROSSDOCK_BUILD_TYPE="$<CONFIG>")

install(TARGETS _native LIBRARY DESTINATION crossdock)

# Plugins lie beside it, where it looks for them.
get_property(plugins GLOBAL PROPERTY CROSSDOCK_PLUGINS)
foreach(plugin IN LISTS plugins)
  install(TARGETS ${plugin} LIBRARY DESTINATION crossdock)
endforeach()

# crossdock._control, where the room control/rpc was built.
if(TARGET crossdock_control_rpc)
  file(GLOB_RECURSE control_bindings CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/control_bindings/*.cpp")
  nanobind_add_module(_control STABLE_ABI NB_STATIC ${control_bindings})
  crossdock_warnings(_control PRIVATE)
  target_include_directories(_control PRIVATE "${PROJECT_SOURCE_DIR}/python")
  target_link_libraries(_control PRIVATE crossdock_control_rpc)
  set_target_properties(_control PROPERTIES BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
  install(TARGETS _control LIBRARY DESTINATION crossdock)
endif()
