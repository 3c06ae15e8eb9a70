# One test program per room: tests/<room's folder>/**/*.cpp. CTest sees every case; a case that runs several threads over
# the engine has `Concurrent` in its name, and `ctest -R Concurrent` is what the thread sanitizer runs.
find_package(GTest REQUIRED)
include(GoogleTest)

get_property(rooms GLOBAL PROPERTY CROSSDOCK_ROOMS)
foreach(room IN LISTS rooms)
  string(REPLACE "_" "/" folder "${room}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp")
  if(NOT sources)
    continue()
  endif()
  set(target crossdock_${room}_test)
  add_executable(${target} ${sources})
  crossdock_warnings(${target} PRIVATE)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${target} PRIVATE crossdock_${room} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${target} TEST_PREFIX "${room}." DISCOVERY_TIMEOUT 120
    PROPERTIES LABELS "${room}" TIMEOUT 300 WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
endforeach()
