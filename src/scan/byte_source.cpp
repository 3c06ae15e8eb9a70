// What all sources of bytes check.
#include "scan/byte_source.hpp"

namespace crossdock::scan {

Status ByteSource::check_range(int64_t offset, int64_t bytes) const {
  if (offset >= 0 && bytes <= bytes_ && offset <= bytes_ - bytes) return {};
  return make_error(ErrorCode::kSourceFailed,
                    "{}: bytes {} to {} are beyond its end at {}",
                    path_,
                    offset,
                    offset + bytes,
                    bytes_);
}

}  // namespace crossdock::scan
