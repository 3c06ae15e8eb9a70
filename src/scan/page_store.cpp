// Small chunks are read at once, large ones page by page.
#include "scan/page_store.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/ranges.h>

#include "base/check.hpp"
#include "scan/codec.hpp"
#include "scan/page_checksum.hpp"

namespace crossdock::scan {
namespace {

constexpr int64_t kReadAtOnce = int64_t{4} << 20;
constexpr int64_t kHeaderGuess = int64_t{4} << 10;
constexpr int64_t kHeaderMost = int64_t{1} << 20;  // statistics of a page can be long
constexpr size_t kSparePages = 4;
// Bytes of a page that is decompressed with others; of dictionaries that are expected, in memory, but for one.
constexpr size_t kTogetherLeast = size_t{64} << 10;
constexpr int64_t kTogetherMost = int64_t{8} << 20;

Error bad_page(std::string_view what) { return make_error(ErrorCode::kSourceFailed, "{}", what); }

Status check_page(const PageHeader& header, std::span<const uint8_t> body) {
  if (!header.checksum.has_value()) return {};
  const uint32_t computed = page_checksum(body);
  const auto expected = static_cast<uint32_t>(*header.checksum);
  if (computed == expected) return {};
  return make_error(
      ErrorCode::kSourceFailed,
      "a page of {} bytes has the checksum {:08x}, and its header says {:08x}: the file is damaged",
      body.size(),
      computed,
      expected);
}

}  // namespace

Error in_chunk(Error error, const ByteSource& file, const ColumnChunk& chunk) {
  const bool is_named = error.message.find(file.path()) != std::string::npos;
  if (error.code != ErrorCode::kSourceFailed || is_named) return error;
  error.message =
      fmt::format("{}: column \"{}\": {}", file.path(), fmt::join(chunk.path, "."), error.message);
  return error;
}

Status PageStore::reserve(Block& block, int64_t bytes) {
  if (block.bytes() >= bytes) return {};
  block.reset();
  CD_ASSIGN(block, memory_->get(bytes + bytes / 4, "a page of a file"));
  return {};
}

Status PageStore::begin(const ByteSource& file,
                        const ColumnChunk& chunk,
                        int64_t end,
                        Ahead ahead) {
  drop_before(INT64_MAX);
  file_ = &file;
  chunk_ = &chunk;
  next_ = chunk.begin();
  end_ = end;
  next_row_ = 0;
  dictionary_header_.reset();
  is_dictionary_loaded_ = false;
  dictionary_ = {};
  const int64_t bytes = end_ - next_;
  has_whole_ = places_.empty() && bytes <= (ahead == Ahead::kChunk ? kReadAtOnce : kHeaderGuess);
  ready_dictionary_bytes_ = -1;
  bool has_come = false;
  for (Expected& expected : expected_) {
    if (!expected.is_ready || expected.chunk != chunk_) continue;
    take_expected(expected);
    has_come = expected.is_whole;
  }
  if (!has_whole_ || has_come) return {};
  CD_TRY(reserve(whole_, bytes));
  return file.read(next_, {whole_.data(), static_cast<size_t>(bytes)});
}

Status PageStore::open(const ByteSource& file,
                       const ColumnChunk& chunk,
                       bool has_levels,
                       Ahead ahead,
                       std::span<const PagePlace> places) {
  has_levels_ = has_levels;
  places_ = places;
  return begin(file, chunk, chunk.begin() + chunk.compressed_bytes, ahead);
}

Status PageStore::open_dictionary(const ByteSource& file, const ColumnChunk& chunk) {
  places_ = {};
  CD_TRY(begin(file, chunk, std::max(chunk.begin(), chunk.data_page_offset), Ahead::kChunk));
  CD_ASSIGN(const PageHeader header, next_header());
  if (header.type != PageType::kDictionary) return bad_page("a column has no dictionary");
  CD_TRY(note_dictionary(header));
  return load_dictionary();
}

// Bytes of the chunk, read into `beside` where the chunk is not in memory.
Result<std::span<const uint8_t>> PageStore::stored(int64_t offset, int64_t bytes, Block& beside) {
  if (bytes > end_ - offset) return bad_page("a page lies beyond the end of its column");
  const auto size = static_cast<size_t>(bytes);
  if (has_whole_) {
    return std::span<const uint8_t>(whole_.data() + (offset - chunk_->begin()), size);
  }
  CD_TRY(reserve(beside, bytes));
  CD_TRY(file_->read(offset, {beside.data(), size}));
  return std::span<const uint8_t>(beside.data(), size);
}

// What the header that comes next lies before: of the pages behind it nothing may have been asked for.
int64_t PageStore::header_limit() const {
  const auto after = std::ranges::upper_bound(places_, next_, {}, &PagePlace::offset);
  return after == places_.end() ? end_ : std::min(end_, after->offset);
}

// Goes on to the body of the next page.
Result<PageHeader> PageStore::next_header() {
  std::optional<PageHeader> header;
  const int64_t limit = header_limit();
  for (int64_t guess = kHeaderGuess; !header.has_value(); guess *= 16) {
    const int64_t bytes = std::min(guess, limit - next_);
    CD_ASSIGN(const auto some, stored(next_, bytes, header_memory_));
    auto parsed = parse_page_header(some);
    if (parsed.ok()) header = parsed.value();
    if (!parsed.ok() && (bytes == limit - next_ || guess > kHeaderMost)) return parsed.error();
  }
  next_ += header->header_bytes;
  if (header->compressed_bytes > end_ - next_) {
    return bad_page("a page lies beyond the end of its column");
  }
  return *header;
}

Status PageStore::go_to(int64_t row) {
  if (places_.empty()) return {};
  const auto after = std::ranges::upper_bound(places_, row, {}, &PagePlace::row_begin);
  const PagePlace& place = *std::prev(after);  // the first page has row 0
  if (place.row_begin <= next_row_) return {};
  if (next_row_ == 0 && next_ < places_[0].offset) {
    CD_ASSIGN(const PageHeader header, next_header());
    if (header.type == PageType::kDictionary) CD_TRY(note_dictionary(header));
  }
  next_ = place.offset;
  next_row_ = place.row_begin;
  return {};
}

// The page as its header says it.
Status PageStore::check_place(const DataPage& page, int64_t offset) const {
  if (places_.empty()) return {};
  const auto place = std::ranges::lower_bound(places_, page.row_begin, {}, &PagePlace::row_begin);
  const bool is_known =
      place != places_.end() && place->row_begin == page.row_begin && place->offset == offset;
  const bool is_last = is_known && std::next(place) == places_.end();
  if (is_known && (is_last || std::next(place)->row_begin == page.row_end)) return {};
  return make_error(ErrorCode::kSourceFailed,
                    "the page index has other rows than the page at {}, which has {} to {}",
                    offset,
                    page.row_begin,
                    page.row_end);
}

Status PageStore::find_until(int64_t end) {
  while (next_row_ < end) {
    if (next_ >= end_) return bad_page("a column has fewer rows than its row group");
    const int64_t offset = next_;
    CD_ASSIGN(const PageHeader header, next_header());
    if (header.type == PageType::kDictionary) {
      CD_TRY(note_dictionary(header));
    } else if (header.type != PageType::kIndex) {
      DataPage& page = pages_.emplace_back();
      page.row_begin = next_row_;
      page.row_end = next_row_ + header.values;
      page.body_offset = next_;
      page.header = header;
      CD_TRY(check_place(page, offset));
      next_row_ = page.row_end;
    }
    next_ += header.compressed_bytes;
  }
  return {};
}

void PageStore::drop_before(int64_t row) {
  while (!pages_.empty() && pages_.front().row_end <= row) {
    Block& memory = pages_.front().memory;
    if (memory.bytes() > 0 && spare_.size() < kSparePages) spare_.push_back(std::move(memory));
    pages_.pop_front();
  }
}

// What is ready stays.
void PageStore::expect(std::span<const ColumnChunk* const> chunks) {
  CD_CHECK(chunks.size() <= kExpectedMost, "{} chunks are expected", chunks.size());
  std::array<const ColumnChunk*, kExpectedMost> others = {};
  std::ranges::copy(chunks, others.begin());
  for (Expected& expected : expected_) {
    const auto place = std::ranges::find(others, expected.chunk);
    if (place == others.end()) {
      expected.chunk = nullptr;
      expected.is_ready = false;
    } else {
      *place = nullptr;
    }
  }
  for (const ColumnChunk* chunk : others) {
    if (chunk != nullptr) std::ranges::find(expected_, nullptr, &Expected::chunk)->chunk = chunk;
  }
}

void PageStore::take_expected(Expected& expected) {
  expected.is_ready = false;
  std::swap(dictionary_memory_, expected.dictionary);
  ready_dictionary_bytes_ = expected.dictionary_bytes;
  if (expected.is_whole && has_whole_) std::swap(whole_, expected.stored);
}

// As much of the chunk as was read of this one, and of its dictionary what the header says of it.
Status PageStore::read_expected(Expected& expected, SnappyBlock& block) {
  const ColumnChunk& chunk = *expected.chunk;
  expected.is_whole = has_whole_;
  const int64_t size = has_whole_ ? chunk.compressed_bytes : chunk.data_page_offset - chunk.begin();
  CD_TRY(reserve(expected.stored, size));
  const std::span<uint8_t> bytes(expected.stored.data(), static_cast<size_t>(size));
  CD_TRY(file_->read(chunk.begin(), bytes));
  CD_ASSIGN(const PageHeader header,
            parse_page_header(bytes.first(std::min(bytes.size(), size_t{kHeaderGuess}))));
  const auto rest = bytes.subspan(static_cast<size_t>(header.header_bytes));
  if (header.type != PageType::kDictionary || header.compressed_bytes > std::ssize(rest)) {
    return bad_page("a column has no dictionary");
  }
  block.in = rest.first(static_cast<size_t>(header.compressed_bytes));
  CD_TRY(check_page(header, block.in));
  CD_TRY(reserve(expected.dictionary, std::max(header.uncompressed_bytes, 1)));
  block.out = {expected.dictionary.data(), static_cast<size_t>(header.uncompressed_bytes)};
  expected.dictionary_bytes = header.uncompressed_bytes;
  return {};
}

bool PageStore::can_expect(const Expected& expected) const {
  const ColumnChunk* chunk = expected.chunk;
  return chunk != nullptr && chunk != chunk_ && !expected.is_ready &&
         chunk->codec == Codec::kSnappy && chunk->begin() < chunk->data_page_offset &&
         chunk->data_page_offset <= chunk->begin() + chunk->compressed_bytes &&
         chunk->compressed_bytes <= kReadAtOnce;
}

// With those that are expected. False where it is to be decompressed alone: those then wait for their turn, which also
// says what is wrong with them.
bool PageStore::decompress_some(std::span<const uint8_t> body, std::span<uint8_t> room) {
  if (chunk_->codec != Codec::kSnappy || room.size() < kTogetherLeast) return false;
  std::array<SnappyBlock, kExpectedMost> blocks = {SnappyBlock{body, room}};
  std::array<Expected*, kExpectedMost> of_blocks = {};
  size_t count = 1;
  int64_t bytes = 0;
  for (Expected& expected : expected_) {
    if (!can_expect(expected) || bytes > kTogetherMost || count == kExpectedMost) continue;
    if (!read_expected(expected, blocks[count]).ok()) continue;
    bytes += expected.stored.bytes() + expected.dictionary.bytes();
    of_blocks[count++] = &expected;
  }
  if (count == 1) return false;
  const auto good = snappy_decompress(std::span(blocks).first(count));
  for (size_t i = 1; i < count; ++i) of_blocks[i]->is_ready = good[i];
  return good[0];
}

Status PageStore::note_dictionary(const PageHeader& header) {
  if (next_row_ > 0 || dictionary_header_.has_value()) {
    return bad_page("a column has two dictionaries");
  }
  dictionary_header_ = header;
  dictionary_offset_ = next_;
  return {};
}

Status PageStore::load_dictionary() {
  if (is_dictionary_loaded_ || !dictionary_header_.has_value()) return {};
  const PageHeader& header = *dictionary_header_;
  if (ready_dictionary_bytes_ != header.uncompressed_bytes) CD_TRY(decompress_dictionary(header));
  dictionary_ = {dictionary_memory_.data(), static_cast<size_t>(header.uncompressed_bytes)};
  is_dictionary_loaded_ = true;
  return {};
}

Status PageStore::decompress_dictionary(const PageHeader& header) {
  CD_ASSIGN(const auto body, stored(dictionary_offset_, header.compressed_bytes, body_memory_));
  CD_TRY(check_page(header, body));
  CD_TRY(reserve(dictionary_memory_, std::max(header.uncompressed_bytes, 1)));
  const std::span<uint8_t> room(dictionary_memory_.data(),
                                static_cast<size_t>(header.uncompressed_bytes));
  return decompress_some(body, room) ? Status() : decompress(chunk_->codec, body, room);
}

Status PageStore::load(DataPage& page) {
  if (page.is_loaded) return {};
  if (goes_in_turns(page)) {
    load_some(page);
    if (page.is_loaded) return {};
  }
  CD_TRY(make_room(page));
  CD_ASSIGN(const auto body, stored(page.body_offset, page.header.compressed_bytes, body_memory_));
  CD_TRY(check_page(page.header, body));
  if (page.header.type == PageType::kDataV2) {
    CD_TRY(load_split(page, body));
  } else {
    CD_TRY(decompress(chunk_->codec, body, room_of(page)));
    CD_TRY(take_whole(page));
  }
  page.is_loaded = true;
  return {};
}

// A large page of a chunk that is all in memory, since most of it is asked for.
bool PageStore::goes_in_turns(const DataPage& page) const {
  return has_whole_ && !page.is_loaded && chunk_->codec == Codec::kSnappy &&
         page.header.type == PageType::kData &&
         page.header.uncompressed_bytes >= int64_t{kTogetherLeast};
}

// With the pages behind it. What cannot be decompressed, or be read, waits for its turn, which says what is wrong.
void PageStore::load_some(DataPage& first) {
  std::array<DataPage*, kSnappyBlocksMost> pages = {};
  std::array<SnappyBlock, kSnappyBlocksMost> blocks;
  size_t count = 0;
  const auto is_first = [&](const DataPage& page) { return &page == &first; };
  for (auto at = std::ranges::find_if(pages_, is_first); count < kSnappyBlocksMost; ++at) {
    if (at == pages_.end()) {
      const int64_t next = next_;
      if (next_ < end_ && !find_until(next_row_ + 1).ok()) next_ = next;
      if (next_ == next) break;
      at = std::prev(pages_.end());
    }
    DataPage& page = *at;
    const auto body = stored(page.body_offset, page.header.compressed_bytes, body_memory_);
    if (!goes_in_turns(page) || !body.ok() || !check_page(page.header, body.value()).ok()) break;
    if (!make_room(page).ok()) break;
    pages[count] = &page;
    blocks[count++] = {body.value(), room_of(page)};
  }
  if (count < 2) return;
  const auto good = snappy_decompress(std::span(blocks).first(count));
  for (size_t i = 0; i < count; ++i) pages[i]->is_loaded = good[i] && take_whole(*pages[i]).ok();
}

Status PageStore::make_room(DataPage& page) {
  const auto holds = [&](const Block& block) {
    return block.bytes() >= page.header.uncompressed_bytes;
  };
  const auto fitting = std::find_if(spare_.begin(), spare_.end(), holds);
  if (!holds(page.memory) && fitting != spare_.end()) {
    page.memory = std::move(*fitting);
    spare_.erase(fitting);
  }
  return reserve(page.memory, std::max(page.header.uncompressed_bytes, 1));
}

std::span<uint8_t> PageStore::room_of(DataPage& page) {
  return {page.memory.data(), static_cast<size_t>(page.header.uncompressed_bytes)};
}

// Levels and values, which were compressed together.
Status PageStore::take_whole(DataPage& page) const {
  const std::span<const uint8_t> room = room_of(page);
  page.values = room;
  if (!has_levels_) return {};
  uint32_t bytes = 0;
  if (page.header.level_encoding != Encoding::kRunLength || room.size() < sizeof(bytes)) {
    return bad_page("the levels of a page are not of the encoding RLE");
  }
  std::memcpy(&bytes, room.data(), sizeof(bytes));
  if (bytes > room.size() - sizeof(bytes)) return bad_page("levels are longer than their page");
  page.levels = room.subspan(sizeof(bytes), bytes);
  page.values = room.subspan(sizeof(bytes) + bytes);
  return {};
}

// Levels beside the values, never compressed.
Status PageStore::load_split(DataPage& page, std::span<const uint8_t> body) {
  const auto levels = static_cast<size_t>(page.header.definition_bytes) +
                      static_cast<size_t>(page.header.repetition_bytes);
  const auto bytes = static_cast<size_t>(page.header.uncompressed_bytes);
  if (levels > body.size() || levels > bytes) return bad_page("levels are longer than their page");
  const std::span<uint8_t> room = room_of(page);
  if (levels > 0) std::memcpy(room.data(), body.data(), levels);
  const bool is_stored = !page.header.is_compressed || bytes == levels;
  const auto codec = is_stored ? Codec::kNone : chunk_->codec;
  if (bytes > levels) CD_TRY(decompress(codec, body.subspan(levels), room.subspan(levels)));
  if (has_levels_) {
    page.levels = room.subspan(static_cast<size_t>(page.header.repetition_bytes),
                               static_cast<size_t>(page.header.definition_bytes));
  }
  page.values = room.subspan(levels);
  return {};
}

}  // namespace crossdock::scan
