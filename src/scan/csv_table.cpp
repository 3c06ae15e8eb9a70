#include "scan/csv_table.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "scan/csv_values.hpp"

namespace crossdock::scan {
namespace {

constexpr int64_t kAheadBytes = int64_t{16} << 10;  // behind a chunk, for its last record
constexpr size_t kCsvOpenFilesMost = 64;
constexpr auto kPatience = std::chrono::milliseconds(20);

const uint8_t* find_byte(const uint8_t* begin, const uint8_t* end, char byte) {
  if (begin >= end) return nullptr;
  return static_cast<const uint8_t*>(
      std::memchr(begin, static_cast<uint8_t>(byte), static_cast<size_t>(end - begin)));
}

// The first byte behind the value whose opening quote is in front of `at`; nullptr where it does not end.
const uint8_t* behind_quotes(const uint8_t* at, const uint8_t* end, char quote) {
  for (;;) {
    const uint8_t* close = find_byte(at, end, quote);
    if (close == nullptr || close + 1 == end) return nullptr;
    if (close[1] != static_cast<uint8_t>(quote)) return close + 1;
    at = close + 2;
  }
}

// The begin of a file, up to all of its header.
class CsvHead {
 public:
  CsvHead(const LocalFile& file, const CsvFormat& format) : file_(file), format_(format) {}

  Result<int64_t> begin_of_rows(const CsvFile& of) {
    CD_TRY(grow());
    size_t at = 0;
    constexpr uint8_t kMark[] = {0xEF, 0xBB, 0xBF};
    if (bytes_.size() >= 3 && std::memcmp(bytes_.data(), kMark, 3) == 0) at = 3;
    CsvFormat plain = format_;
    plain.quote.reset();
    for (int64_t line = 0; line < of.skipped_lines; ++line) {
      CD_ASSIGN(at, end_of(at, plain));
    }
    if (of.has_header) {
      while (at < bytes_.size() && (bytes_[at] == '\n' || bytes_[at] == '\r')) ++at;
      CD_ASSIGN(at, end_of(at, format_));
    }
    return static_cast<int64_t>(at);
  }
  // Bytes of a record, on average of those that have been read.
  double record_bytes(size_t begin) const {
    const auto lines =
        std::count(bytes_.begin() + static_cast<ptrdiff_t>(begin), bytes_.end(), uint8_t{'\n'});
    return static_cast<double>(bytes_.size() - begin) / static_cast<double>(lines + 1);
  }

 private:
  Result<size_t> end_of(size_t at, const CsvFormat& format) {
    for (;;) {
      const auto end = csv_record_end(bytes_, at, format);
      if (end.has_value()) return *end;
      if (static_cast<int64_t>(bytes_.size()) == file_.bytes()) return bytes_.size();
      CD_TRY(grow());
    }
  }
  Status grow() {
    const int64_t needed = std::max<int64_t>(int64_t{64} << 10, int64_t(bytes_.size()) * 4);
    if (needed > CsvTable::kRecordBytesMost) {
      return make_error(ErrorCode::kSourceFailed, "{}: its header has no end", file_.path());
    }
    bytes_.resize(static_cast<size_t>(std::min(needed, file_.bytes())));
    return file_.read(0, bytes_);
  }

  const LocalFile& file_;
  const CsvFormat& format_;
  std::vector<uint8_t> bytes_;
};

}  // namespace

std::optional<size_t> csv_record_end(std::span<const uint8_t> bytes,
                                     size_t begin,
                                     const CsvFormat& format) {
  const uint8_t* const first = bytes.data() + begin;
  const uint8_t* const end = bytes.data() + bytes.size();
  for (const uint8_t* at = first;;) {
    const uint8_t* line_end = find_byte(at, end, '\n');
    if (line_end == nullptr) return std::nullopt;
    const auto behind = static_cast<size_t>(line_end - bytes.data()) + 1;
    if (!format.quote.has_value()) return behind;
    const uint8_t* quote = find_byte(at, line_end, *format.quote);
    if (quote == nullptr) return behind;
    const bool opens = quote == first || quote[-1] == static_cast<uint8_t>(format.delimiter);
    at = opens ? behind_quotes(quote + 1, end, *format.quote) : quote + 1;
    if (at == nullptr) return std::nullopt;
  }
}

Result<std::shared_ptr<const CsvTable>> CsvTable::create(std::vector<CsvFile> files,
                                                         CsvFormat format,
                                                         const Schema& expected) {
  auto table = std::shared_ptr<CsvTable>(new CsvTable);
  table->format_ = std::move(format);
  auto schema = std::make_shared<Schema>(expected);
  for (Field& field : schema->fields) {
    CD_ASSIGN(field.type, csv_type(field));
  }
  table->schema_ = std::move(schema);
  const bool stays_open = files.size() <= kCsvOpenFilesMost;
  for (CsvFile& file : files) {
    if (file.places.size() != expected.fields.size() || file.values < 1) {
      return make_error(ErrorCode::kInvalidArgument, "{}: its columns are not known", file.path);
    }
    CD_TRY(table->add_file(std::move(file), stays_open));
  }
  return std::shared_ptr<const CsvTable>(std::move(table));
}

Status CsvTable::add_file(CsvFile file, bool stays_open) {
  CD_ASSIGN(auto opened, LocalFile::open(file.path, stays_open));
  CsvHead head(*opened, format_);
  CD_ASSIGN(const int64_t begin, head.begin_of_rows(file));
  const auto number = static_cast<int>(files_.size());
  for (int64_t at = begin; at < opened->bytes(); at += kChunkBytes) {
    chunks_.push_back({number, at, std::min(at + kChunkBytes, opened->bytes())});
  }
  const double record = std::max(1.0, head.record_bytes(static_cast<size_t>(begin)));
  estimated_rows_ += static_cast<int64_t>(static_cast<double>(opened->bytes() - begin) / record);
  files_.push_back(std::move(file));
  opened_.push_back(std::move(opened));
  return {};
}

int64_t CsvTable::line_of(int number, int64_t offset) const {
  const LocalFile& of = file(number);
  std::vector<uint8_t> some(static_cast<size_t>(kChunkBytes));
  int64_t line = 1;
  for (int64_t at = 0; at < offset; at += kChunkBytes) {
    const auto bytes = static_cast<size_t>(std::min(kChunkBytes, offset - at));
    if (!of.read(at, {some.data(), bytes}).ok()) break;
    line += std::count(some.data(), some.data() + bytes, uint8_t{'\n'});
  }
  return line;
}

CsvStarts::CsvStarts(const CsvTable& table) : starts_(table.chunks().size(), -1) {
  int file = -1;
  for (size_t c = 0; c < starts_.size(); ++c) {
    const CsvChunk& chunk = table.chunks()[c];
    if (chunk.file != file) starts_[c] = chunk.begin;
    file = chunk.file;
  }
}

void CsvStarts::publish(int64_t chunk, int64_t offset) {
  const std::lock_guard lock(mutex_);
  starts_[static_cast<size_t>(chunk)] = offset;
  published_.notify_all();
}

void CsvStarts::abandon() {
  const std::lock_guard lock(mutex_);
  is_abandoned_ = true;
  published_.notify_all();
}

bool CsvStarts::is_abandoned() {
  const std::lock_guard lock(mutex_);
  return is_abandoned_;
}

std::optional<int64_t> CsvStarts::wait(int64_t chunk) {
  std::unique_lock lock(mutex_);
  const int64_t& start = starts_[static_cast<size_t>(chunk)];
  published_.wait_for(lock, kPatience, [&] { return start >= 0 || is_abandoned_; });
  return start >= 0 ? std::optional<int64_t>(start) : std::nullopt;
}

Status CsvChunkReader::read(int64_t chunk) {
  chunk_ = chunk;
  bytes_ = 0;
  sign_count_ = 0;
  all_signs_ = {};
  records_ = {};
  return extend();
}

// What is in them stays.
Status CsvChunkReader::reserve(int64_t bytes) {
  const auto larger = [&](Block& block, int64_t needed, int64_t used) -> Status {
    if (block.bytes() >= needed) return {};
    CD_ASSIGN(Block more, memory_->get(needed + needed / 4, "a part of a CSV file"));
    if (used > 0) std::memcpy(more.data(), block.data(), static_cast<size_t>(used));
    block = std::move(more);
    return {};
  };
  constexpr auto kSignBytes = static_cast<int64_t>(sizeof(uint32_t));
  CD_TRY(larger(block_, bytes, int64_t{bytes_}));
  return larger(signs_, (bytes + 1) * kSignBytes, static_cast<int64_t>(sign_count_) * kSignBytes);
}

// To the end of the chunk and some more, then by as much again.
Status CsvChunkReader::extend() {
  const CsvChunk& chunk = table_.chunks()[static_cast<size_t>(chunk_)];
  const LocalFile& file = table_.file(chunk.file);
  const int64_t known = bytes_;
  const int64_t needed =
      known == 0 ? chunk.end - chunk.begin + kAheadBytes : known + std::max(known / 2, kAheadBytes);
  const int64_t bytes = std::min(needed, file.bytes() - chunk.begin);
  if (bytes > CsvTable::kChunkBytes + CsvTable::kRecordBytesMost) {
    return make_error(ErrorCode::kSourceFailed,
                      "{}: a line from byte {} on has more than {} MiB: a quote may be missing",
                      file.path(),
                      chunk.begin,
                      CsvTable::kRecordBytesMost >> 20);
  }
  CD_TRY(reserve(bytes));
  const std::span<uint8_t> more(block_.data() + known, static_cast<size_t>(bytes - known));
  CD_TRY(file.read(chunk.begin + known, more));
  const CsvFormat& format = table_.format();
  auto* signs = signs_.as<uint32_t>() + sign_count_;
  const CsvSigns added =
      find_csv_signs(more, format.delimiter, format.quote.value_or(format.delimiter), signs);
  for (size_t i = 0; known > 0 && i < added.count; ++i) signs[i] += bytes_;
  sign_count_ += added.count;
  all_signs_.lines += added.lines;
  all_signs_.is_ascii = all_signs_.is_ascii && added.is_ascii;
  all_signs_.has_quotes = all_signs_.has_quotes || added.has_quotes;
  bytes_ = static_cast<uint32_t>(bytes);
  return {};
}

// Without quotes all signs stay, and only the last ones are looked at.
bool CsvChunkReader::walk(uint32_t target, CsvWalk& walk) {
  const CsvFormat& format = table_.format();
  auto* signs = signs_.as<uint32_t>();
  if (all_signs_.has_quotes) {
    const int64_t size = table_.file(table_.chunks()[static_cast<size_t>(chunk_)].file).bytes();
    const CsvBytes bytes{block_.data(), bytes_, offset() + bytes_ == size, *format.quote};
    return walk_csv_signs(bytes, {signs, sign_count_}, target, walk);
  }
  const uint32_t* last = std::lower_bound(signs + walk.read, signs + sign_count_, target - 1);
  while (last != signs + sign_count_ && block_.data()[*last] != '\n') ++last;
  if (last == signs + sign_count_) return false;
  walk.lines += static_cast<size_t>(
      std::count(block_.data() + walk.record, block_.data() + *last + 1, uint8_t{'\n'}));
  walk.record = *last + 1;
  walk.kept = static_cast<size_t>(last - signs) + 1;
  return true;
}

Status CsvChunkReader::find(int64_t start, CsvStarts& starts) {
  const auto& chunks = table_.chunks();
  const CsvChunk& chunk = chunks[static_cast<size_t>(chunk_)];
  const int64_t size = table_.file(chunk.file).bytes() - chunk.begin;
  int64_t next = start;
  if (start < chunk.end) {
    auto* signs = signs_.as<uint32_t>();
    const auto begin = static_cast<uint32_t>(start - chunk.begin);
    CsvWalk walked;
    walked.value = walked.record = begin;
    walked.read = walked.kept =
        static_cast<size_t>(std::lower_bound(signs, signs + sign_count_, begin) - signs);
    const size_t first = walked.kept;
    while (!walk(static_cast<uint32_t>(chunk.end - chunk.begin), walked)) {
      if (int64_t{bytes_} == size) break;
      CD_TRY(extend());
    }
    if (walked.record < chunk.end - chunk.begin) end_file(walked);
    next = chunk.begin + walked.record;
    records_ = {block_.data(),
                begin,
                walked.record,
                signs_.as<uint32_t>() + first,
                walked.kept - first,
                walked.lines,
                all_signs_.is_ascii,
                all_signs_.has_quotes,
                walked.has_doubled};
  }
  const auto behind = static_cast<size_t>(chunk_) + 1;
  if (behind < chunks.size() && chunks[behind].file == chunk.file) starts.publish(chunk_ + 1, next);
  return {};
}

// The last record of a file, which no line end needs to end.
void CsvChunkReader::end_file(CsvWalk& walked) {
  auto* signs = signs_.as<uint32_t>();
  if (!all_signs_.has_quotes) {
    walked.lines += static_cast<size_t>(
        std::count(block_.data() + walked.record, block_.data() + bytes_, uint8_t{'\n'}));
    walked.kept = sign_count_;
  }
  if (walked.record == bytes_) return;
  if (block_.data()[bytes_ - 1] != '\n' || walked.is_quoted) {
    signs[walked.kept++] = bytes_;
    ++walked.lines;
  }
  walked.record = bytes_;
}

}  // namespace crossdock::scan
