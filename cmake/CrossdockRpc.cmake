# The room control/rpc, which needs gRPC and protobuf: a library apart, so that whoever uses tables alone needs neither.
# Without gRPC the room is left out, and with it the Python module crossdock._control; the verbs of the command line that
# want it say what to install.
if(NOT CROSSDOCK_PLUGINS)
  return()
endif()
if(CROSSDOCK_SANITIZE STREQUAL "thread")
  return()  # the system's gRPC is not built for the thread sanitizer, which then reports what is in order
endif()
find_package(Protobuf 3.21 QUIET)
find_package(gRPC 1.51 CONFIG QUIET)
if(NOT gRPC_FOUND OR NOT Protobuf_FOUND)
  message(STATUS "gRPC not found: without the room control/rpc (Debian: libgrpc++-dev protobuf-compiler-grpc)")
  return()
endif()

# crossdock_control_proto: what protoc makes of control.proto. Generated code gets no warnings of ours.
set(proto_folder "${PROJECT_SOURCE_DIR}/src")
set(made_folder "${PROJECT_BINARY_DIR}/proto")
set(made_base "${made_folder}/control/rpc/control")
file(MAKE_DIRECTORY "${made_folder}")
add_custom_command(
  OUTPUT "${made_base}.pb.cc" "${made_base}.pb.h" "${made_base}.grpc.pb.cc" "${made_base}.grpc.pb.h"
  COMMAND protobuf::protoc "--proto_path=${proto_folder}" "--cpp_out=${made_folder}" "--grpc_out=${made_folder}"
    "--plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>" control/rpc/control.proto
  DEPENDS "${proto_folder}/control/rpc/control.proto"
  VERBATIM)
# Shared, and beside what needs it: a process that has two of these messages' descriptors is ended by protobuf, and the
# plugin control and the module _control are of one process.
add_library(crossdock_control_proto SHARED
  "${made_base}.pb.cc" "${made_base}.pb.h" "${made_base}.grpc.pb.cc" "${made_base}.grpc.pb.h")
target_include_directories(crossdock_control_proto SYSTEM PUBLIC "${made_folder}")
target_link_libraries(crossdock_control_proto PUBLIC gRPC::grpc++_reflection gRPC::grpc++ protobuf::libprotobuf)
if(CROSSDOCK_SANITIZE)
  target_compile_options(crossdock_control_proto PRIVATE -fno-sanitize=undefined)
endif()

set_target_properties(crossdock_control_proto PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF
  BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
set_property(GLOBAL APPEND PROPERTY CROSSDOCK_PLUGINS crossdock_control_proto)

crossdock_module(control_rpc DIR src/control/rpc APART LIGHT
  DEPS base topology control_protocol control_controller control_agent LINK crossdock_control_proto)

# The plugin "control": ranks that meet through the control plane.
crossdock_module(control_ranks DIR src/control/ranks APART LIGHT DEPS base data_ranks control_protocol control_rpc)
crossdock_plugin(control control_ranks)
set_target_properties(crossdock_control PROPERTIES BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
