// Differences, lengths and split streams.
#include "scan/plain_pages.hpp"

namespace crossdock::scan {

Status make_plain(DataPage& page, const ColumnForm& form, Memory& memory) {
  (void)memory;
  switch (page.header.encoding) {
    case Encoding::kPlain:
    case Encoding::kDictionary:
    case Encoding::kPlainDictionary:
      return {};
    case Encoding::kRunLength:
      if (form.physical == PhysicalType::kBoolean) return {};
      break;
    default:
      break;
  }
  return make_error(ErrorCode::kUnsupportedType,
                    "a page has the encoding {}",
                    static_cast<int>(page.header.encoding));
}

}  // namespace crossdock::scan
