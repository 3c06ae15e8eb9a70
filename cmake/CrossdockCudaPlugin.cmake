# The plugin "cuda": GPUs for tables on devices (src/session/device/cuda), where nvcc is. It compiles the few rooms that it
# needs itself and has the CUDA runtime inside, so that it needs a driver alone; none of its symbols but two are seen, so
# that another library's CUDA in the same process is left in peace.

# Functions have sections of their own, so that what no program calls is left out and needs nothing itself. Of instruction
# sets only the one that every machine has: what chooses among several is in a library.
function(crossdock_gpu_options target)
  crossdock_warnings(${target} PRIVATE)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include"
    "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}/bench")
  target_compile_definitions(${target} PRIVATE FMT_HEADER_ONLY=1 HWY_COMPILE_ONLY_STATIC=1)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffunction-sections>)
endfunction()

set(plugin_sources
  src/base/check.cpp src/base/error.cpp src/data/device/cuda_backend.cpp
  src/operators/device/cuda_runner.cpp src/operators/device/device_runner.cpp
  src/session/device/cuda/cuda_driver.cpp src/session/device/cuda/cuda_plugin.cpp)
list(TRANSFORM plugin_sources PREPEND "${PROJECT_SOURCE_DIR}/")
add_library(crossdock_cuda MODULE ${plugin_sources}
  $<TARGET_OBJECTS:crossdock_data_device_kernels> $<TARGET_OBJECTS:crossdock_operators_device_kernels>)
crossdock_gpu_options(crossdock_cuda)
target_compile_definitions(crossdock_cuda PRIVATE CROSSDOCK_CUDA_INTERFACE="${CROSSDOCK_CUDA_INTERFACE}")
file(WRITE "${PROJECT_BINARY_DIR}/crossdock_cuda.map" "{ global: crossdock_*; local: *; };\n")
target_link_options(crossdock_cuda PRIVATE -Wl,--gc-sections -Wl,-z,defs
  "-Wl,--version-script=${PROJECT_BINARY_DIR}/crossdock_cuda.map")
set_target_properties(crossdock_cuda PROPERTIES CUDA_RUNTIME_LIBRARY Static LINKER_LANGUAGE CXX)
target_link_libraries(crossdock_cuda PRIVATE Threads::Threads)
set_property(GLOBAL APPEND PROPERTY CROSSDOCK_PLUGINS crossdock_cuda)
add_dependencies(crossdock_kernels crossdock_cuda)
