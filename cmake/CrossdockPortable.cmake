# What a wheel needs to run on systems older than the one it is built on, and without their libraries (tools/wheels). The
# objects are those of any other build; only what they are linked with differs, so ccache has them.
set(CROSSDOCK_PORTABLE "" CACHE PATH "Folder of archives and of an older C library to link with (tools/wheels/bundled.py)")
if(NOT CROSSDOCK_PORTABLE)
  return()
endif()
foreach(pair fmt::fmt=fmt hwy::hwy=hwy Xxhash::Xxhash=xxhash Re2::Re2=re2 Hwloc::Hwloc=hwloc)
  string(REPLACE "=" ";" pair "${pair}")
  list(GET pair 0 target)
  list(GET pair 1 name)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION "${CROSSDOCK_PORTABLE}/lib${name}.a" IMPORTED_LOCATION_RELEASE "${CROSSDOCK_PORTABLE}/lib${name}.a")
endforeach()
# Of the compiler's libraries only the unwinder is shared with the rest of the process. No symbol of an archive is seen
# from outside, so that another library's copy of it in the same process is left in peace.
set(archives libstdc++.a libold_glibc.a libfmt.a libhwy.a libxxhash.a libre2.a libhwloc.a)
list(JOIN archives ":" hidden)
add_link_options(-nodefaultlibs "-L${CROSSDOCK_PORTABLE}" "-Wl,--exclude-libs,${hidden}" -Wl,--as-needed -Wl,--allow-shlib-undefined)
set(CMAKE_CXX_STANDARD_LIBRARIES
  "-l:libstdc++.a -l:libold_glibc.a -lm -lgcc -lgcc_s -lpthread -ldl -lrt -lc -l:libc_nonshared.a -lc_loader -lgcc")
