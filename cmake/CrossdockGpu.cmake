# Programs for a machine with a GPU, which are built on one without: static CUDA runtime and libstdc++, no Crossdock
# library, no UCX, MPI or Python. They compile the few rooms that they need themselves, so that nothing is linked that the
# other machine may lack (its driver is all it has to have).
find_package(GTest REQUIRED)

set(gpu_sources
  src/base/check.cpp src/base/error.cpp
  src/data/rings/make_segment_layout.cpp src/data/rings/place_ring.cpp src/data/rings/ring_state.cpp
  src/data/channels/levels.cpp src/topology/paths.cpp
  src/data/device/cuda_backend.cpp src/data/device/device_channel.cpp src/data/device/level_tables.cpp
  src/data/device/residency.cpp src/data/device/wiring.cpp
  src/table/word_range.cpp src/data/codecs/bit_streams.cpp src/data/codecs/block_coder.cpp src/data/codecs/column_coder.cpp
  src/data/codecs/device/device_columns.cpp
  src/operators/device/cuda_runner.cpp src/operators/device/device_runner.cpp
  src/operators/device/device_partition.cpp src/operators/device/device_join.cpp src/operators/device/device_group_by.cpp
  src/operators/device/device_key_words.cpp src/operators/device/device_gather.cpp
  tests/gpu/gpu_exchange.cpp tests/gpu/gpu_coding.cpp)
list(TRANSFORM gpu_sources PREPEND "${PROJECT_SOURCE_DIR}/")

# All kernels of tests, benches and examples, compiled with those of the rooms (target crossdock_kernels).
file(GLOB gpu_kernels CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/gpu/*.cu"
  "${PROJECT_SOURCE_DIR}/bench/gpu/*.cu" "${PROJECT_SOURCE_DIR}/examples/*/*.cu")
list(FILTER gpu_kernels EXCLUDE REGEX "probe_kernels")
add_library(crossdock_gpu_kernels OBJECT ${gpu_kernels})
add_library(crossdock_gpu_probe_kernels OBJECT "${PROJECT_SOURCE_DIR}/bench/gpu/probe_kernels.cu")
foreach(kernels crossdock_gpu_kernels crossdock_gpu_probe_kernels)
  target_include_directories(${kernels} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include"
    "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}/bench")
  add_dependencies(crossdock_kernels ${kernels})
endforeach()

add_library(crossdock_gpu_rooms OBJECT ${gpu_sources})
crossdock_gpu_options(crossdock_gpu_rooms)

# An archive, of which a program takes what it calls: all kernels would be 3 MB more in each.
add_library(crossdock_gpu_archive STATIC $<TARGET_OBJECTS:crossdock_gpu_rooms> $<TARGET_OBJECTS:crossdock_gpu_kernels>
  $<TARGET_OBJECTS:crossdock_gpu_probe_kernels>
  $<TARGET_OBJECTS:crossdock_data_device_kernels>
  $<TARGET_OBJECTS:crossdock_data_codecs_device_kernels>
  $<TARGET_OBJECTS:crossdock_operators_device_kernels>)
set_target_properties(crossdock_gpu_archive PROPERTIES CUDA_RUNTIME_LIBRARY Static)

# crossdock_gpu_program(<name> <sources>...)
function(crossdock_gpu_program name)
  add_executable(${name} ${ARGN})
  crossdock_gpu_finish(${name})
endfunction()
function(crossdock_gpu_finish name)
  crossdock_gpu_options(${name})
  target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections)
  set_target_properties(${name} PROPERTIES CUDA_RUNTIME_LIBRARY Static LINKER_LANGUAGE CXX)
  target_link_libraries(${name} PRIVATE crossdock_gpu_archive Threads::Threads)
endfunction()

crossdock_gpu_program(crossdock_gpu_tests tests/gpu/gpu_main.cpp tests/gpu/gpu_rings_test.cpp tests/gpu/gpu_exchange_test.cpp
  tests/gpu/gpu_codecs_test.cpp tests/gpu/gpu_operators_test.cpp tests/operators/device/host_runner.cpp)
target_link_libraries(crossdock_gpu_tests PRIVATE GTest::gmock GTest::gtest)

crossdock_gpu_program(crossdock_gpu_probe bench/gpu/gpu_probe.cpp bench/gpu/bench_run.cpp)
crossdock_gpu_program(crossdock_groupby_kernel examples/04-groupby-kernel/main.cpp)
crossdock_gpu_program(crossdock_gpu_bench bench/gpu/gpu_bench.cpp bench/gpu/bench_run.cpp)
crossdock_gpu_program(crossdock_gpu_codec_bench bench/gpu/codec_bench.cpp bench/gpu/nvcomp_peer.cpp bench/gpu/bench_run.cpp)
target_link_libraries(crossdock_gpu_codec_bench PRIVATE ${CMAKE_DL_LIBS})
crossdock_gpu_program(crossdock_gpu_operator_bench bench/gpu/operator_bench.cpp bench/gpu/bench_run.cpp)

# What a fix changes is measured in one run: benches whose kernels are compiled without it, for sm_90 alone. Each header
# in bench/gpu/variants/<variant> stands in for the room's (atomics: the library's atomic references; bounds: no number
# of blocks; pairs: slots of a join put in word by word).
function(crossdock_gpu_variant variant bench)  # and the sources of its kernels
  string(REGEX REPLACE "^gpu_" "" program "${bench}")
  set(program crossdock_gpu_${program}_${variant})
  add_library(${program}_kernels OBJECT EXCLUDE_FROM_ALL ${ARGN})
  target_include_directories(${program}_kernels BEFORE PRIVATE "${PROJECT_SOURCE_DIR}/bench/gpu/variants/${variant}"
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/tests")
  set_target_properties(${program}_kernels PROPERTIES CUDA_ARCHITECTURES "90-real")
  # Objects come before the archive, so that it does not give the same once more.
  add_executable(${program} EXCLUDE_FROM_ALL bench/gpu/${bench}.cpp bench/gpu/bench_run.cpp
    $<TARGET_OBJECTS:${program}_kernels>)
  crossdock_gpu_finish(${program})
endfunction()
foreach(variant atomics bounds pairs)
  crossdock_gpu_variant(${variant} operator_bench src/operators/device/operator_calls_cuda.cu)
endforeach()
foreach(variant atomics bounds)
  crossdock_gpu_variant(${variant} gpu_bench src/data/device/sorter_kernel.cu tests/gpu/exchange_kernel.cu)
endforeach()

# The suites of operators, which are those of CPU threads and compare with the CPU's operators, and the plugin: more than
# the programs above need, so rooms come as libraries, and shared libraries are carried along (tools/gpu_bundle.py).
file(GLOB suite_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/operators/device/*_test.cpp")
file(GLOB_RECURSE suite_support CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/operators/*.cpp"
  "${PROJECT_SOURCE_DIR}/tests/table/*.cpp")
list(FILTER suite_support EXCLUDE REGEX "_test\\.cpp$|_nocuda\\.cpp$")
list(APPEND suite_sources ${suite_support})
add_executable(crossdock_gpu_suites EXCLUDE_FROM_ALL ${suite_sources} tests/gpu/gpu_main.cpp
  tests/gpu/gpu_plugin_test.cpp)
crossdock_warnings(crossdock_gpu_suites PRIVATE)
target_include_directories(crossdock_gpu_suites PRIVATE "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(crossdock_gpu_suites PRIVATE crossdock_session_device crossdock_operators_device
  crossdock_operators GTest::gmock GTest::gtest)
target_link_options(crossdock_gpu_suites PRIVATE -Wl,--gc-sections -Wl,--as-needed -Wl,--disable-new-dtags)
set_target_properties(crossdock_gpu_suites PROPERTIES CUDA_RUNTIME_LIBRARY Static LINKER_LANGUAGE CUDA
  BUILD_RPATH "$ORIGIN/lib")
add_dependencies(crossdock_gpu_suites crossdock_cuda)
