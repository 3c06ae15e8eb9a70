# One test program per room: tests/<room's folder>/**/*_test.cpp; the other sources there are support, a library of
# their own that the fuzz targets share. CTest sees every case, but for those that share processes under the sanitizers.
# A case that runs several threads over the engine has `Concurrent` in its name: they are what the thread sanitizer runs.
find_package(GTest REQUIRED)
include(GoogleTest)

# Keeps the sources in a list that hold a concurrent case: the others would be compiled for the thread sanitizer in vain.
function(crossdock_concurrent_only list_name)
  set(kept "")
  foreach(source IN LISTS ${list_name})
    file(STRINGS "${source}" hit REGEX "[Cc]oncurrent" LIMIT_COUNT 1)
    if(hit)
      list(APPEND kept "${source}")
    endif()
  endforeach()
  set(${list_name} "${kept}" PARENT_SCOPE)
endfunction()

# Under the sanitizers, tests are compiled fast: it is the rooms whose behaviour is checked. The address sanitizer stays,
# since tests read what rooms give them. A room whose tests work long themselves keeps its optimisation.
set(working_tests
  control_world data_bulk data_channels data_movers data_rings data_sorters data_transports execution operators operators_device
  table)
function(crossdock_fast_tests target room)
  if(CROSSDOCK_SANITIZE AND NOT room IN_LIST working_tests)
    target_compile_options(${target} PRIVATE -O0)
    crossdock_checks_by_call(${target})
  endif()
  if(room STREQUAL data_rings OR room STREQUAL operators_device)  # rooms of templates, which their tests make
    crossdock_light_checks(${target})
  elseif(CROSSDOCK_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
  endif()
endfunction()

# The search of all interleavings looks at a memory of its own, of which the sanitizers know nothing: it only waits for
# them. The rings under them are those of the other tests.
function(crossdock_plain_models)
  if(CROSSDOCK_SANITIZE)
    file(GLOB models CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/data/rings/*model*.cpp")
    set_source_files_properties(${models} PROPERTIES COMPILE_OPTIONS "-fno-sanitize=all;-O2"
      SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()
crossdock_plain_models()

# A sanitized process takes 0.15 s to start, much longer than most cases. Rooms of many small ones, which leave nothing
# behind, run theirs in a few processes, and Google Test says which cases they were (build/<preset>/cases).
set(small_cases table topology model control_optimizer control_controller data_sorters operators operators_device execution)
set(shards 4)
function(crossdock_sharded_tests target room)
  set(filter "*")
  if(CROSSDOCK_SANITIZE STREQUAL "thread")
    set(filter "*oncurrent*")
  endif()
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    set(name "${room}.shard_${shard}")
    add_test(NAME ${name} COMMAND ${target} "--gtest_filter=${filter}" --gtest_brief=1
      "--gtest_output=xml:${CMAKE_BINARY_DIR}/cases/${room}_${shard}.xml" WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    # The longest begin first, or the last of them would run alone at the end.
    set_tests_properties(${name} PROPERTIES LABELS "${room}" TIMEOUT 900 COST 100
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

# What has to be built to run the tests: not the rooms that none of them needs.
add_custom_target(crossdock_tests)

get_property(rooms GLOBAL PROPERTY CROSSDOCK_ROOMS)
get_property(rooms_apart GLOBAL PROPERTY CROSSDOCK_ROOMS_APART)
list(APPEND rooms ${rooms_apart})

# The rooms below some rooms, and these. Tests of a room use the support of its own and of these: with that of all rooms,
# each program took in most of the engine (130 MB), and the thread sanitizer's build rooms that none of its tests runs.
function(crossdock_rooms_below list_name)
  set(below "")
  set(next ${ARGN})
  while(next)
    list(POP_FRONT next room)
    if(NOT room IN_LIST below)
      list(APPEND below ${room})
      get_property(deps GLOBAL PROPERTY CROSSDOCK_DEPS_${room})
      list(APPEND next ${deps})
    endif()
  endwhile()
  set(${list_name} "${below}" PARENT_SCOPE)
endfunction()

# A room beside it, whose answers the tests of a room expect.
set(judge_of_operators_device operators)

# Links the support of `room` and of the rooms below it, which stand above it in the list of rooms.
function(crossdock_link_support target scope room)
  crossdock_rooms_below(below ${room} ${judge_of_${room}})
  foreach(other IN LISTS below)
    if(TARGET crossdock_${other}_test_support AND NOT target STREQUAL crossdock_${other}_test_support)
      target_link_libraries(${target} ${scope} crossdock_${other}_test_support)
    endif()
  endforeach()
endfunction()
foreach(room IN LISTS rooms)
  string(REPLACE "_" "/" folder "${room}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp")
  foreach(inner IN LISTS rooms)  # a room in a room has tests of its own
    string(REPLACE "_" "/" inner_folder "${inner}")
    if(inner_folder MATCHES "^${folder}/")
      list(FILTER sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/tests/${inner_folder}/")
    endif()
  endforeach()
  if(NOT crossdock_devices)
    list(FILTER sources EXCLUDE REGEX "/device/")
  endif()
  list(FILTER sources EXCLUDE REGEX "_cuda\\.cpp$")  # of programs for GPUs (CrossdockGpu.cmake)
  if(NOT sources)
    continue()
  endif()
  set(support ${sources})
  list(FILTER support EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources INCLUDE REGEX "_test\\.cpp$")
  set(target crossdock_${room}_test)
  if(support)
    add_library(${target}_support STATIC ${support})
    crossdock_warnings(${target}_support PRIVATE)
    crossdock_fast_tests(${target}_support ${room})
    crossdock_unity(${target}_support 8)
    if(NOT room IN_LIST rooms_apart)
      crossdock_precompile(${target}_support test)
    endif()
    target_include_directories(${target}_support PUBLIC "${PROJECT_SOURCE_DIR}/tests")
    crossdock_link_support(${target}_support PUBLIC ${room})
    target_link_libraries(${target}_support PUBLIC crossdock_${room} GTest::gmock)
  endif()
  if(CROSSDOCK_SANITIZE STREQUAL "thread")
    crossdock_concurrent_only(sources)
  endif()
  if(NOT sources)
    continue()
  endif()
  add_executable(${target} ${sources})
  crossdock_warnings(${target} PRIVATE)
  crossdock_fast_tests(${target} ${room})
  crossdock_unity(${target} 8)
  if(NOT room IN_LIST rooms_apart)
    crossdock_precompile(${target} test)
  endif()
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  crossdock_link_support(${target} PRIVATE ${room})
  target_link_libraries(${target} PRIVATE crossdock_${room} GTest::gmock GTest::gtest_main)
  add_dependencies(crossdock_tests ${target})
endforeach()

foreach(room IN LISTS rooms)
  set(target crossdock_${room}_test)
  if(TARGET ${target})
    if(CROSSDOCK_SANITIZE AND room IN_LIST small_cases)
      crossdock_sharded_tests(${target} ${room})
    else()
      gtest_discover_tests(${target} TEST_PREFIX "${room}." DISCOVERY_TIMEOUT 120
        PROPERTIES LABELS "${room}" TIMEOUT 300 WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    endif()
  endif()
endforeach()

# The suites that GPUs run, too, in one process: together they launch every kernel and primitive of operators.
if(TARGET crossdock_operators_device_test AND NOT CROSSDOCK_SANITIZE STREQUAL "thread")
  add_test(NAME operators_device.launches COMMAND crossdock_operators_device_test "--gtest_filter=*Concurrent*/0"
    --gtest_brief=1 WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(operators_device.launches PROPERTIES LABELS operators_device TIMEOUT 300
    ENVIRONMENT CROSSDOCK_REQUIRE_ALL_LAUNCHED=1)
endif()

# A library in NVML's place, which tests of the topology load by its path.
if(TARGET crossdock_topology_test)
  add_library(crossdock_fake_nvml MODULE "${PROJECT_SOURCE_DIR}/tests/nvml/fake_nvml.cpp")
  crossdock_warnings(crossdock_fake_nvml PRIVATE)
  target_include_directories(crossdock_fake_nvml PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(crossdock_fake_nvml PRIVATE fmt::fmt)
  add_dependencies(crossdock_topology_test crossdock_fake_nvml)
  target_compile_definitions(crossdock_topology_test
    PRIVATE CROSSDOCK_FAKE_NVML="$<TARGET_FILE:crossdock_fake_nvml>")
endif()

# Processes that the tests of links and of channels between hosts start, as ranks.
if(TARGET crossdock_ucx)
  add_executable(crossdock_link_driver "${PROJECT_SOURCE_DIR}/tests/links/link_driver.cpp")
  crossdock_warnings(crossdock_link_driver PRIVATE)
  target_link_libraries(crossdock_link_driver PRIVATE crossdock_data_transports)
  add_dependencies(crossdock_link_driver crossdock_ucx)
  add_dependencies(crossdock_tests crossdock_link_driver)
  add_dependencies(crossdock_data_transports_ucx_test crossdock_ucx crossdock_link_driver)
  target_compile_definitions(crossdock_data_transports_ucx_test PRIVATE
    CROSSDOCK_LINK_DRIVER="$<TARGET_FILE:crossdock_link_driver>" CROSSDOCK_HOSTS="${PROJECT_SOURCE_DIR}/tools/hosts.py")
  if(TARGET crossdock_data_channels_test)
    add_dependencies(crossdock_data_channels_test crossdock_ucx)
  endif()
  if(TARGET crossdock_data_channels_test AND NOT CROSSDOCK_SANITIZE STREQUAL "thread")
    add_executable(crossdock_channel_driver "${PROJECT_SOURCE_DIR}/tests/links/channel_driver.cpp")
    crossdock_warnings(crossdock_channel_driver PRIVATE)
    crossdock_link_support(crossdock_channel_driver PRIVATE data_channels)
    add_dependencies(crossdock_channel_driver crossdock_ucx)
    add_dependencies(crossdock_data_channels_test crossdock_channel_driver)
    target_compile_definitions(crossdock_data_channels_test PRIVATE
      CROSSDOCK_CHANNEL_DRIVER="$<TARGET_FILE:crossdock_channel_driver>" CROSSDOCK_HOSTS="${PROJECT_SOURCE_DIR}/tools/hosts.py")
  endif()
endif()

# Ranks that the tests of MPI start: one program for both, and one for each that starts MPI itself.
if(TARGET crossdock_data_transports_test AND NOT CROSSDOCK_SANITIZE STREQUAL "thread")
  add_executable(crossdock_mpi_driver "${PROJECT_SOURCE_DIR}/tests/links/mpi_driver.cpp"
    "${PROJECT_SOURCE_DIR}/tests/links/killed_phases.cpp")
  crossdock_warnings(crossdock_mpi_driver PRIVATE)
  target_link_libraries(crossdock_mpi_driver PRIVATE crossdock_operators crossdock_table_test_support
    crossdock_data_ranks_test_support)
  add_dependencies(crossdock_data_transports_test crossdock_mpi_driver)
  foreach(mpi openmpi mpich)
    if(NOT TARGET crossdock_mpi_${mpi})
      continue()
    endif()
    string(TOUPPER "${mpi}" upper)
    add_executable(crossdock_mpi_program_${mpi} "${PROJECT_SOURCE_DIR}/tests/links/mpi_program.cpp")
    crossdock_warnings(crossdock_mpi_program_${mpi} PRIVATE)
    target_include_directories(crossdock_mpi_program_${mpi} SYSTEM PRIVATE "${CROSSDOCK_${upper}_INCLUDE}")
    target_compile_definitions(crossdock_mpi_program_${mpi} PRIVATE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
    target_link_libraries(crossdock_mpi_program_${mpi} PRIVATE
      crossdock_data_ranks_test_support "${CROSSDOCK_${upper}_LIBRARY}")
    add_dependencies(crossdock_data_transports_test crossdock_mpi_${mpi} crossdock_mpi_program_${mpi})
  endforeach()
endif()

# Loaded by groups under mpirun, from beside the test.
if(TARGET crossdock_session_test AND NOT CROSSDOCK_SANITIZE STREQUAL "thread")
  foreach(plugin mpi_openmpi mpi_mpich pmix)
    if(TARGET crossdock_${plugin})
      add_dependencies(crossdock_session_test crossdock_${plugin})
    endif()
  endforeach()
endif()

# Ranks that meet need a controller to meet at.
if(TARGET crossdock_control_ranks_test)
  target_link_libraries(crossdock_control_ranks_test PRIVATE crossdock_control_rpc_test_support)
  add_dependencies(crossdock_control_ranks_test crossdock_control)
endif()

# Loaded by ranks under mpirun, from beside the test.
if(TARGET crossdock_data_ranks_test AND TARGET crossdock_pmix)
  add_dependencies(crossdock_data_ranks_test crossdock_pmix)
endif()

# Plugins for the tests of the loader: one that fits, one of another build.
if(TARGET crossdock_data_plugins_test)
  foreach(name sample stranger)
    add_library(crossdock_${name} MODULE "${PROJECT_SOURCE_DIR}/tests/plugins/${name}_plugin.cpp")
    crossdock_warnings(crossdock_${name} PRIVATE)
    add_dependencies(crossdock_data_plugins_test crossdock_${name})
  endforeach()
endif()

# Runs as long as it is asked to (make soak), so it is no test of CTest; built with the tests, or it would rot.
if(TARGET crossdock_data_channels_test AND NOT CROSSDOCK_SANITIZE STREQUAL "thread")
  add_executable(crossdock_channel_soak "${PROJECT_SOURCE_DIR}/tests/soak/channel_soak.cpp")
  crossdock_warnings(crossdock_channel_soak PRIVATE)
  target_include_directories(crossdock_channel_soak PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  crossdock_link_support(crossdock_channel_soak PRIVATE data_channels)
  add_dependencies(crossdock_tests crossdock_channel_soak)
endif()

# Fuzz targets follow libFuzzer's interface; fuzz_main.cpp drives them with random inputs from a seed, so that a short run
# is a test that any compiler can build and that fails the same way everywhere.
set(fuzz_seed 1)
set(fuzz_inputs 10000)  # make test-long runs more
set(fuzz_inputs_expression_fuzz 3000)  # each is a program that is compiled and run
set(fuzz_inputs_parquet_fuzz 40000)  # each is a file of 2.5 changes on average: 10^5 in all
# The room that each works on.
set(fuzz_room_arrow_import_fuzz table)
set(fuzz_room_coded_column_fuzz data_codecs_device)
set(fuzz_room_control_message_fuzz control_rpc)
set(fuzz_room_csv_fuzz scan)
set(fuzz_room_expression_fuzz expressions)
set(fuzz_room_json_fuzz expressions)
set(fuzz_room_mover_note_fuzz data_movers)
set(fuzz_room_parquet_fuzz scan)
set(fuzz_room_segment_rows_fuzz data_movers)
set(fuzz_room_topology_json_fuzz topology)
set(fuzz_room_wire_segment_fuzz data_rings)
file(GLOB fuzz_targets CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp")
if(CROSSDOCK_SANITIZE STREQUAL "thread")
  set(fuzz_targets "")
endif()
if(fuzz_targets)
  add_library(crossdock_fuzz_main OBJECT "${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_main.cpp")
  crossdock_warnings(crossdock_fuzz_main PRIVATE)
  target_link_libraries(crossdock_fuzz_main PRIVATE fmt::fmt)
endif()
foreach(source IN LISTS fuzz_targets)
  cmake_path(GET source STEM target)
  set(room "${fuzz_room_${target}}")
  if(room STREQUAL "")
    message(FATAL_ERROR "${source}: name the room that it works on, fuzz_room_${target}")
  elseif(NOT TARGET crossdock_${room})  # left out of this build
    continue()
  endif()
  add_executable(${target} "${source}")
  crossdock_warnings(${target} PRIVATE)
  crossdock_link_support(${target} PRIVATE ${room})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${target} PRIVATE crossdock_fuzz_main crossdock_${room})
  if(NOT target STREQUAL "control_message_fuzz")  # which takes flags from gRPC
    crossdock_precompile(${target} std)
  endif()
  add_dependencies(crossdock_tests ${target})
  set(inputs ${fuzz_inputs})
  if(DEFINED fuzz_inputs_${target})
    set(inputs ${fuzz_inputs_${target}})
  endif()
  add_test(NAME fuzz.${target} COMMAND ${target} ${fuzz_seed} ${inputs})
  set_tests_properties(fuzz.${target} PROPERTIES LABELS fuzz TIMEOUT 300)
endforeach()
