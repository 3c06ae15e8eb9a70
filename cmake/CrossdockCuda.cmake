# Looks for the CUDA compiler when the build asks for it. CROSSDOCK_CUDA_BUILDS tells the rooms whether .cu files count.
set(CROSSDOCK_CUDA_BUILDS OFF)
if(CROSSDOCK_CUDA)
  file(GLOB_RECURSE crossdock_cuda_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cu" "${PROJECT_SOURCE_DIR}/bench/*.cu")
  list(LENGTH crossdock_cuda_sources crossdock_cuda_count)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # Named architectures only: lists such as "all" go wrong when toolkit and CMake differ in age.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 90)
    endif()
    enable_language(CUDA)
    # nvcc knows C++20 from 12.0 on; CMake 3.25 does not know that it does.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.0)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    # Keys are hashed by the same constant expressions as on the CPU. Tools that measure or check kernels name lines.
    string(APPEND CMAKE_CUDA_FLAGS " --expt-relaxed-constexpr -lineinfo")
    if(CROSSDOCK_WERROR)  # registers that go through memory cost more than a block that does not fit beside
      string(APPEND CMAKE_CUDA_FLAGS " -Xptxas=--warn-on-spills,--warning-as-error")
      # CUB's kernels alone, whose bounds are its own.
      set_source_files_properties("${PROJECT_SOURCE_DIR}/src/operators/device/primitive_calls_cuda.cu" PROPERTIES
        COMPILE_OPTIONS "-Xptxas=-w")
    endif()
    set(CROSSDOCK_CUDA_BUILDS ON)
    message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_COMPILER_VERSION}, sm_${CMAKE_CUDA_ARCHITECTURES}, "
                   "${crossdock_cuda_count} CUDA sources")
  elseif(crossdock_cuda_count GREATER 0)
    message(FATAL_ERROR "CROSSDOCK_CUDA is on and there are ${crossdock_cuda_count} CUDA sources, but no CUDA compiler was "
                        "found. Put nvcc on the PATH, name it in CUDACXX, or configure without CROSSDOCK_CUDA.")
  else()
    message(STATUS "CUDA: no compiler found, and 0 CUDA sources to build")
  endif()
endif()
