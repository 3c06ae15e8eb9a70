# Language level, warnings, sanitizers and the compiler cache; the same for every target of the project.
# No -march flag: the library runs on any machine of its architecture, and kernels choose their instructions at run time.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CROSSDOCK_CCACHE ccache)
mark_as_advanced(CROSSDOCK_CCACHE)
# Where a build shares no objects with another one (crossdock_precompile).
set(CROSSDOCK_PRECOMPILE OFF)
if(CROSSDOCK_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND (CROSSDOCK_SANITIZE OR NOT CROSSDOCK_CCACHE))
  set(CROSSDOCK_PRECOMPILE ON)
endif()
if(CROSSDOCK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # By paths relative to the checkout: its builds of the same kind (the Python module, the preset release) share objects.
  # Which headers an object depends on it reads from what the compiler writes, instead of preprocessing each source first.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros "${CROSSDOCK_CCACHE}")
endif()

# GCC collects its garbage each time its heap has grown by half, a tenth of its time for the larger units, where 1 GB is
# there for each of its processes.
cmake_host_system_information(RESULT crossdock_memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
cmake_host_system_information(RESULT crossdock_cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR crossdock_memory_needed_mib "2048 * (${crossdock_cores} + 2)")  # Ninja's number of processes
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND crossdock_memory_mib GREATER_EQUAL crossdock_memory_needed_mib)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1000000>")
endif()

if(CROSSDOCK_SANITIZE)
  add_compile_options(-fsanitize=${CROSSDOCK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CROSSDOCK_SANITIZE})
endif()

# What threads share does not depend on the instructions: kernels are compiled once for the thread sanitizer. All of
# their variants run under the address sanitizer.
if(CROSSDOCK_SANITIZE STREQUAL "thread")
  add_compile_definitions(HWY_COMPILE_ONLY_STATIC=1)
endif()

# Not the checks of each pointer for null, type and size: they cost a quarter of the time that sanitized code takes to
# compile, and the address sanitizer finds what they find as soon as the pointer is used.
if(CROSSDOCK_SANITIZE MATCHES "undefined")
  add_compile_options(-fno-sanitize=null,vptr,object-size)
endif()

# Nor those of alignment: for rooms that work on what other rooms have checked.
function(crossdock_light_checks target)
  if(CROSSDOCK_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fno-sanitize=alignment)
  endif()
endfunction()

# The checks of the address sanitizer as calls, instead of code at each access: the same checks, and GCC compiles
# src/session in 23 s instead of 40 s. Tests of rooms that look at every value take half as long again, so these keep
# the code.
function(crossdock_checks_by_call target)
  if(CROSSDOCK_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE --param=asan-instrumentation-with-call-threshold=0)
  endif()
endfunction()

# Warnings are for our own code only: generated and third-party sources do not get them.
function(crossdock_warnings target scope)
  set(flags -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wextra-semi -Werror=return-type)
  if(CROSSDOCK_WERROR)
    list(APPEND flags -Werror)
  endif()
  target_compile_options(${target} ${scope} "$<$<COMPILE_LANGUAGE:CXX>:${flags}>")
endfunction()

# Headers of other projects that most sources include, parsed once for all targets instead of once for each source: they
# take 2.5 s of processor time, with gmock 5 s, and loading them 0.4 s. `headers` is std, or test for what uses gmock too.
# Not where ccache gives two builds each other's objects, since what is precompiled is of one build. A source may then
# forget to include one of these headers; the presets dev and release, without them, say so.
function(crossdock_precompile target headers)
  if(NOT CROSSDOCK_PRECOMPILE)
    return()
  endif()
  set(carrier crossdock_precompiled_${headers})
  get_target_property(options ${target} COMPILE_OPTIONS)
  if("-O0" IN_LIST options)
    string(APPEND carrier _O0)
  endif()
  if(NOT TARGET ${carrier})
    file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/${carrier}.cpp" CONTENT "// Its precompiled headers are all there is.\n")
    add_library(${carrier} OBJECT "${PROJECT_BINARY_DIR}/${carrier}.cpp")
    crossdock_warnings(${carrier} PRIVATE)
    target_link_libraries(${carrier} PRIVATE fmt::fmt)
    set(list algorithm array atomic bit charconv chrono cmath condition_variable cstdint cstring deque functional limits
      map memory mutex numeric optional set span string string_view thread unordered_map utility variant vector
      fmt/format.h fmt/ranges.h)
    if(headers STREQUAL "test")
      target_link_libraries(${carrier} PRIVATE GTest::gmock)
      list(APPEND list gmock/gmock.h gtest/gtest.h)
    endif()
    if("-O0" IN_LIST options)
      target_compile_options(${carrier} PRIVATE -O0)
    endif()
    list(TRANSFORM list REPLACE "(.+)" "<\\1>")
    target_precompile_headers(${carrier} PRIVATE ${list})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${carrier})
  target_compile_options(${target} PRIVATE -fPIC)  # of programs, too: as the headers are
endfunction()

# Compiles sources of a folder as one, where CROSSDOCK_UNITY is on (all presets but dev, and what pip builds): each header
# they share is parsed once, and each template made once. So names in the unnamed namespaces of a folder differ. Up to
# `batch` at a time; a second batch of src/session took as long as the first, most of it in what both include.
# Kernels that are compiled once per instruction set stay alone. CMake's unity sources name files by where the checkout
# lies; these do not, so that ccache has their objects for another checkout, too.
function(crossdock_unity target batch)
  if(NOT CROSSDOCK_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(candidates ${sources})
  list(FILTER candidates INCLUDE REGEX "\\.cpp$")
  list(SORT candidates)
  set(folders "")
  foreach(source IN LISTS candidates)
    file(STRINGS "${source}" many REGEX "hwy/foreach_target" LIMIT_COUNT 1)
    get_source_file_property(alone "${source}" SKIP_UNITY_BUILD_INCLUSION)
    if(many OR alone)
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND sources_${folder} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    set(number 0)
    list(LENGTH sources_${folder} count)
    while(number LESS count)
      list(SUBLIST sources_${folder} ${number} ${batch} together)
      math(EXPR group "${number} / ${batch}")
      math(EXPR number "${number} + ${batch}")
      list(REMOVE_ITEM sources ${together})
      list(APPEND sources "${PROJECT_BINARY_DIR}/unity/${target}/${folder}_${group}.cpp")
      list(TRANSFORM together REPLACE "^${PROJECT_SOURCE_DIR}/(.+)$" "#include \"\\1\"\n")
      list(JOIN together "" together)
      file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/unity/${target}/${folder}_${group}.cpp" CONTENT "${together}")
    endwhile()
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${sources}")
  target_compile_options(${target} PRIVATE "SHELL:-iquote \"${PROJECT_SOURCE_DIR}\"")
  # A type of an unnamed namespace is in no danger there: what GCC takes for a header is a source.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
endfunction()
