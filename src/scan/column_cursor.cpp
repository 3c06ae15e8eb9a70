#include "scan/column_cursor.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "scan/plain_pages.hpp"
#include "table/bitmap.hpp"

namespace crossdock::scan {
namespace {

using Kind = PageValues::Kind;

int32_t decoded_bytes(const ColumnForm& form) {
  if (layout(form.type) == Layout::kBits) return 1;
  return form.is_narrow ? 8 : fixed_bytes(form.type);
}

Error bad_column(std::string_view what) { return make_error(ErrorCode::kSourceFailed, "{}", what); }

Error lacks_string() {
  return bad_column("a page holds a string that the file's dictionaries lack");
}

}  // namespace

ColumnCursor::ColumnCursor(ColumnForm form,
                           std::shared_ptr<const StringCodes> codes,
                           std::shared_ptr<Memory> memory)
    : form_(std::move(form)),
      layout_(layout(form_.type)),
      width_(decoded_bytes(form_)),
      string_codes_(std::move(codes)),
      memory_(std::move(memory)),
      store_(memory_) {}

void ColumnCursor::open(const ByteSource& file,
                        const ColumnForm& form,
                        const ColumnChunk& chunk,
                        int64_t rows,
                        std::span<const PagePlace> places) {
  form_ = form;
  width_ = decoded_bytes(form);
  places_ = places;
  file_ = &file;
  chunk_ = &chunk;
  rows_ahead_ = rows;
  is_open_ = false;
  has_dictionary_ = false;
  page_begin_ = -1;
}

void ColumnCursor::step(int64_t begin, int32_t rows) {
  step_begin_ = begin;
  step_rows_ = rows;
  capacity_ = std::max<int64_t>(capacity_, (rows + 1023) / 1024 * 1024);
  is_entered_ = false;
}

Status ColumnCursor::reserve(Block& block, int64_t bytes) {
  if (block.bytes() >= bytes) return {};
  block.reset();
  CD_ASSIGN(block, memory_->get(bytes, "columns of a file"));
  return {};
}

// `rows_wanted`: of this step. Where they are few of it, or the steps few of the chunk, pages are read one by one.
Status ColumnCursor::enter(int32_t rows_wanted) {
  if (is_entered_) return {};
  if (!is_open_) {
    constexpr int64_t kFew = 16;
    const bool few = rows_wanted * kFew < step_rows_ || rows_ahead_ < chunk_->values / 2;
    const auto ahead = few ? PageStore::Ahead::kPage : PageStore::Ahead::kChunk;
    CD_TRY(store_.open(*file_, *chunk_, form_.nullable(), ahead, places_));
  }
  is_open_ = true;
  store_.drop_before(step_begin_);
  const int64_t end = step_begin_ + step_rows_;
  CD_TRY(store_.go_to(step_begin_));
  CD_TRY(store_.find_until(end));
  store_.drop_before(step_begin_);
  portions_.clear();
  for (DataPage& page : store_.pages()) {
    const int64_t first = std::max(page.row_begin, step_begin_);
    const int64_t last = std::min(page.row_end, end);
    if (first >= last) continue;
    Portion& portion = portions_.emplace_back();
    portion.page = &page;
    portion.first = static_cast<int32_t>(first - step_begin_);
    portion.rows = static_cast<int32_t>(last - first);
  }
  heaps_.resize(1);
  heap_bytes_.resize(1);
  point_at_dictionary();
  is_entered_ = true;
  return {};
}

// Nothing while no page with codes has been read.
void ColumnCursor::point_at_dictionary() {
  const auto bytes = store_.dictionary();
  heaps_[0] = bytes.empty() ? reinterpret_cast<const uint8_t*>("") : bytes.data();
  heap_bytes_[0] = std::ssize(bytes);
}

// Makes all portions ready that have one of the rows.
Status ColumnCursor::prepare(const uint32_t* rows, int32_t count) {
  CD_TRY(enter(count));
  int32_t at = 0;
  for (Portion& portion : portions_) {
    const auto end = static_cast<uint32_t>(portion.first + portion.rows);
    if (rows != nullptr) {
      const int32_t begin = at;
      at = static_cast<int32_t>(std::lower_bound(rows + at, rows + count, end) - rows);
      if (at == begin) continue;
    }
    if (!portion.is_ready) CD_TRY(prepare_portion(portion));
  }
  return {};
}

Status ColumnCursor::begin_page(DataPage& page) {
  CD_TRY(store_.load(page));
  CD_TRY(make_plain(page, form_, *memory_));
  CD_ASSIGN(values_, PageValues::create(page.values, page.header.encoding, form_));
  // A second version's page without nulls may have no levels.
  const bool is_full = page.header.type == PageType::kDataV2 && page.levels.empty();
  has_levels_ = form_.nullable() && !is_full;
  level_ = static_cast<uint32_t>(form_.definition_levels);
  levels_ = RunDecoder(page.levels, std::bit_width(level_));
  page_begin_ = page.row_begin;
  page_row_ = page.row_begin;
  return {};
}

Status ColumnCursor::skip_rows(int64_t rows) {
  page_row_ += rows;
  if (!has_levels_) return values_.skip(rows);
  constexpr int64_t kSome = 512;
  uint32_t levels[kSome];
  int64_t values = 0;
  for (int64_t done = 0; done < rows; done += kSome) {
    const int64_t some = std::min(kSome, rows - done);
    if (!levels_.read(some, levels)) return bad_column("a page has fewer levels than rows");
    values += std::count(levels, levels + some, level_);
  }
  return values_.skip(values);
}

Status ColumnCursor::prepare_portion(Portion& portion) {
  DataPage& page = *portion.page;
  if (page_begin_ != page.row_begin) CD_TRY(begin_page(page));
  const int64_t skipped = step_begin_ + portion.first - page_row_;
  if (skipped > 0) CD_TRY(skip_rows(skipped));
  CD_TRY(read_levels(portion));
  CD_TRY(read_values(portion));
  page_row_ += portion.rows;
  portion.is_ready = true;
  return {};
}

// Of a null, the rank is that of a value beside it.
Status ColumnCursor::read_levels(Portion& portion) {
  portion.values = portion.rows;
  portion.has_nulls = false;
  if (!has_levels_) return {};
  uint32_t level = 0;
  const bool is_run = levels_.take_run(portion.rows, &level);
  if (is_run && level == level_) return {};
  CD_TRY(reserve(ranks_, capacity_ * 4));
  CD_TRY(reserve(valid_, capacity_));
  uint32_t* ranks = ranks_.as<uint32_t>() + portion.first;
  uint8_t* valid = valid_.data() + portion.first;
  if (is_run) {
    std::fill_n(ranks, portion.rows, 0U);
  } else if (!levels_.read(portion.rows, ranks)) {
    return bad_column("a page has fewer levels than rows");
  }
  uint32_t rank = 0;
  for (int32_t i = 0; i < portion.rows; ++i) {
    const uint32_t is_valid = ranks[i] == level_ ? 1 : 0;
    valid[i] = static_cast<uint8_t>(is_valid);
    ranks[i] = rank - (is_valid == 0 && rank > 0 ? 1 : 0);
    rank += is_valid;
  }
  portion.values = static_cast<int32_t>(rank);
  portion.has_nulls = portion.values < portion.rows;
  return {};
}

// Codes of nulls lie behind those of the dictionary.
Status ColumnCursor::spread_codes(const Portion& portion) {
  CD_TRY(reserve(index_, capacity_ * 4));
  auto* compact = index_.as<uint32_t>();
  const auto limit = static_cast<uint32_t>(store_.dictionary_values());
  CD_TRY(values_.read_codes(portion.values, limit, compact));
  const uint32_t* ranks = ranks_.as<uint32_t>() + portion.first;
  const uint8_t* valid = valid_.data() + portion.first;
  uint32_t* codes = codes_.as<uint32_t>() + portion.first;
  if (portion.values == 0) compact[0] = limit;
  for (int32_t i = 0; i < portion.rows; ++i) {
    codes[i] = valid[i] != 0 ? compact[ranks[i]] : limit;
  }
  return {};
}

Status ColumnCursor::read_values(Portion& portion) {
  portion.kind = values_.kind();
  switch (portion.kind) {
    case Kind::kCodes: {
      CD_TRY(load_dictionary());
      CD_TRY(reserve(codes_, capacity_ * 4));
      if (portion.has_nulls) return spread_codes(portion);
      return values_.read_codes(portion.values,
                                static_cast<uint32_t>(store_.dictionary_values()),
                                codes_.as<uint32_t>() + portion.first);
    }
    case Kind::kFixed: {
      CD_ASSIGN(portion.fixed, values_.take_fixed(portion.values));
      return {};
    }
    case Kind::kStrings: {
      CD_TRY(reserve(strings_, capacity_ * int64_t{sizeof(StringView)}));
      const auto heap = static_cast<int32_t>(heaps_.size());
      heaps_.push_back(portion.page->values.data());
      heap_bytes_.push_back(static_cast<int64_t>(portion.page->values.size()));
      return values_.read_strings(portion.values, heap, strings_.as<StringView>() + portion.first);
    }
    case Kind::kBits:
      CD_TRY(reserve(bits_, capacity_));
      return values_.read_bits(portion.values, bits_.data() + portion.first);
  }
  return {};
}

// Strings become views or codes at once, other values when they are first tested: a large dictionary of which few are
// picked stays as it is.
Status ColumnCursor::load_dictionary() {
  CD_TRY(store_.load_dictionary());
  point_at_dictionary();
  if (form_.physical == PhysicalType::kByteArray) return make_dictionary();
  const auto bytes = static_cast<int64_t>(store_.dictionary().size());
  const int64_t width = std::max(form_.stored_bytes, 1);
  if (store_.dictionary_values() <= bytes / width) return {};
  return bad_column("a dictionary has fewer values than its header says");
}

// Whether decimals of the dictionary are converted once, and not for each of `count` rows: where 128 bits stay in the
// cache, or they are bytes, which are slow to put together. No decimal fails, whether a row has it or not.
bool ColumnCursor::converts_dictionary(int32_t count) const {
  constexpr int32_t kCachedValues = 1 << 11;
  const int32_t values = store_.dictionary_values();
  if (form_.conversion == Conversion::kDecimal) {
    return !form_.is_narrow && values <= kCachedValues && values <= count;
  }
  return form_.conversion == Conversion::kDecimalBytes && values <= rows_ahead_ &&
         values / 8 <= count;
}

// Once for each chunk that has one; a place for nulls is behind the values.
Status ColumnCursor::make_dictionary() {
  if (has_dictionary_) return {};
  const int32_t count = store_.dictionary_values();
  const auto bytes = static_cast<int64_t>(store_.dictionary().size());
  if (form_.physical == PhysicalType::kByteArray && count > bytes / 4) {
    return bad_column("a dictionary has fewer values than its header says");
  }
  CD_TRY(reserve(dictionary_memory_, (int64_t{count} + 1) * 16));
  uint8_t* values = dictionary_memory_.data();
  std::memset(values + int64_t{count} * width_, 0, static_cast<size_t>(width_));
  if (form_.physical == PhysicalType::kByteArray) {
    CD_TRY(make_string_dictionary(count));
  } else if (form_.physical == PhysicalType::kBoolean) {
    return bad_column("booleans have no dictionary");
  } else {
    CD_TRY(convert(store_.dictionary().data(), {nullptr, count}, values));
  }
  dictionary_ = ColumnView();
  dictionary_.length = count;
  dictionary_.values = values;
  dictionary_.is_narrow = form_.is_narrow;
  if (form_.conversion == Conversion::kStringCodes)
    dictionary_.dictionary = &string_codes_->values();
  if (layout_ == Layout::kViews) {
    dictionary_.heaps = heaps_.data();
    dictionary_.heap_bytes = heap_bytes_.data();
    dictionary_.heap_count = 1;
  }
  has_dictionary_ = true;
  return {};
}

Status ColumnCursor::make_string_dictionary(int32_t count) {
  CD_ASSIGN(PageValues strings, PageValues::create(store_.dictionary(), Encoding::kPlain, form_));
  auto* views = dictionary_memory_.as<StringView>();
  CD_TRY(strings.read_strings(count, 0, views));
  if (form_.conversion != Conversion::kStringCodes) return {};
  ColumnView column;
  column.length = count;
  column.values = dictionary_memory_.data();
  column.heaps = heaps_.data();
  column.heap_bytes = heap_bytes_.data();
  column.heap_count = 1;
  // Codes are narrower than views, so they may take their place.
  auto* codes = dictionary_memory_.as<int32_t>();
  std::array<int32_t, kMaxKeyRows> some;
  for (int32_t at = 0; at < count; at += kMaxKeyRows) {
    const int32_t rows = std::min(kMaxKeyRows, count - at);
    string_codes_->find(column, at, rows, some.data());
    if (std::find(some.begin(), some.begin() + rows, -1) != some.begin() + rows) {
      return lacks_string();
    }
    std::copy_n(some.begin(), rows, codes + at);
  }
  codes[count] = 0;
  return {};
}

Result<int32_t> ColumnCursor::code_of(const StringView& view) const {
  const bool is_short = view.bytes <= kInlineStringBytes;
  const uint8_t* heap = is_short ? nullptr : heaps_[static_cast<size_t>(view.words[1])];
  const int32_t code = string_codes_->code(string_of(view, heap));
  if (code < 0) return lacks_string();
  return code;
}

Status ColumnCursor::convert(const uint8_t* from, ValueList list, uint8_t* out) const {
  if (convert_values(form_, from, list, out)) return {};
  return bad_column(fmt::format("a value is not in range of {}", type_name(form_.type)));
}

Status ColumnCursor::in_chunk(Status status) const {
  return status.ok() ? status : scan::in_chunk(status.error(), *file_, *chunk_);
}

Result<const uint32_t*> ColumnCursor::codes(const uint32_t* rows, int32_t count) {
  if (!form_.is_stored) return nullptr;
  CD_TRY(in_chunk(prepare(rows, count)));
  for (const Portion& portion : portions_) {
    if (portion.is_ready && portion.kind != Kind::kCodes)
      return static_cast<const uint32_t*>(nullptr);
  }
  const bool any_ready = std::any_of(
      portions_.begin(), portions_.end(), [](const Portion& portion) { return portion.is_ready; });
  if (!any_ready) return static_cast<const uint32_t*>(nullptr);
  return static_cast<const uint32_t*>(codes_.as<uint32_t>());
}

Result<ColumnView> ColumnCursor::dictionary() {
  CD_TRY(in_chunk(make_dictionary()));
  return dictionary_;
}

// Where the value of each row is among those of the portion; nullptr: side by side.
const uint32_t* ColumnCursor::index_of(const Portion& portion,
                                       const uint32_t* rows,
                                       int32_t count) {
  const bool is_coded = portion.kind == Kind::kCodes;
  if (is_coded && portion.has_nulls) {
    // The code of a null is that of no value: any will do.
    const auto last = static_cast<uint32_t>(store_.dictionary_values()) - 1;
    const uint32_t* codes = codes_.as<uint32_t>();
    auto* index = index_.as<uint32_t>();
    for (int32_t i = 0; i < count; ++i) {
      const uint32_t row = rows == nullptr ? static_cast<uint32_t>(portion.first + i) : rows[i];
      index[i] = std::min(codes[row], last);
    }
    return index;
  }
  const uint32_t* by_row = is_coded          ? codes_.as<uint32_t>() + portion.first
                         : portion.has_nulls ? ranks_.as<uint32_t>() + portion.first
                                             : nullptr;
  if (rows == nullptr) return by_row;
  auto* index = index_.as<uint32_t>();
  const auto first = static_cast<uint32_t>(portion.first);
  if (by_row == nullptr) {
    for (int32_t i = 0; i < count; ++i) index[i] = rows[i] - first;
  } else {
    for (int32_t i = 0; i < count; ++i) index[i] = by_row[rows[i] - first];
  }
  return index;
}

Status ColumnCursor::decode_portion(const Portion& portion,
                                    const uint32_t* rows,
                                    int32_t count,
                                    int32_t at) {
  uint8_t* out = out_.data() + int64_t{at} * width_;
  uint8_t* valid = out_valid_.data() + at;
  if (portion.has_nulls) {
    any_nulls_ = true;
    const uint8_t* from = valid_.data() + portion.first;
    for (int32_t i = 0; i < count; ++i) {
      valid[i] = rows == nullptr ? from[i] : from[rows[i] - static_cast<uint32_t>(portion.first)];
    }
  } else if (form_.nullable()) {
    std::memset(valid, 1, static_cast<size_t>(count));
  }
  if (portion.values == 0) {
    std::memset(out, 0, static_cast<size_t>(count) * static_cast<size_t>(width_));
    return {};
  }
  const ValueList list{index_of(portion, rows, count), count};
  switch (portion.kind) {
    case Kind::kCodes:
      if (converts_dictionary(count)) CD_TRY(make_dictionary());
      if (!has_dictionary_) return convert(store_.dictionary().data(), list, out);
      pick_values(width_, dictionary_memory_.data(), list, out);
      return {};
    case Kind::kFixed:
      return convert(portion.fixed, list, out);
    case Kind::kBits:
      pick_values(1, bits_.data() + portion.first, list, out);
      return {};
    case Kind::kStrings:
      break;
  }
  const StringView* strings = strings_.as<StringView>() + portion.first;
  if (form_.conversion != Conversion::kStringCodes) {
    pick_values(width_, reinterpret_cast<const uint8_t*>(strings), list, out);
    return {};
  }
  for (int32_t i = 0; i < count; ++i) {
    CD_ASSIGN(const int32_t code, code_of(strings[list.index == nullptr ? i : list.index[i]]));
    std::memcpy(out + int64_t{i} * width_, &code, sizeof(code));
  }
  return {};
}

Status ColumnCursor::decode_portions(const uint32_t* rows, int32_t count) {
  CD_TRY(prepare(rows, count));
  CD_TRY(reserve(out_, capacity_ * width_));
  CD_TRY(reserve(out_valid_, capacity_ + 8));
  CD_TRY(reserve(index_, capacity_ * 4));
  any_nulls_ = false;
  int32_t at = 0;
  for (const Portion& portion : portions_) {
    int32_t some = portion.rows;
    if (rows != nullptr) {
      const auto end = static_cast<uint32_t>(portion.first + portion.rows);
      some = static_cast<int32_t>(std::lower_bound(rows + at, rows + count, end) - (rows + at));
    }
    if (some == 0) continue;
    CD_TRY(decode_portion(portion, rows == nullptr ? nullptr : rows + at, some, at));
    at += some;
  }
  return {};
}

Result<ColumnView> ColumnCursor::decode(const uint32_t* rows, int32_t count) {
  if (!form_.is_stored) return repeat(count);
  CD_TRY(in_chunk(decode_portions(rows, count)));
  ColumnView out;
  out.length = count;
  out.values = out_.data();
  out.is_narrow = form_.is_narrow;
  if (layout_ == Layout::kBits) {
    CD_TRY(reserve(out_bits_, capacity_ / 8));
    pack_bits(out_.data(), count, out_bits_.data());
    out.values = out_bits_.data();
  }
  if (any_nulls_) {
    CD_TRY(reserve(out_bitmap_, capacity_ / 8));
    pack_bits(out_valid_.data(), count, out_bitmap_.data());
    out.validity = out_bitmap_.data();
    out.null_count = -1;
  }
  if (form_.conversion == Conversion::kStringCodes) out.dictionary = &string_codes_->values();
  if (layout_ == Layout::kViews) {
    out.heaps = heaps_.data();
    out.heap_bytes = heap_bytes_.data();
    out.heap_count = static_cast<int32_t>(heaps_.size());
  }
  return out;
}

}  // namespace crossdock::scan
