// Which files' footers are parsed once, and which again.
#include "scan/footer_cache.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "scan/parquet_file.hpp"
#include "scan/written_parquet.hpp"

namespace crossdock::scan {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<const FileMetadata> footer_of(int64_t rows) {
  auto footer = std::make_shared<FileMetadata>();
  footer->rows = rows;
  return footer;
}

FileIdentity file_of(uint64_t number) {
  return {.device = 1, .number = number, .bytes = 100, .written_ns = 1, .changed_ns = 1};
}

TEST(FooterCache, HasWhatWasKeptForThisVeryFile) {
  FooterCache cache;
  cache.keep(file_of(7), footer_of(3), 10);
  ASSERT_NE(cache.find(file_of(7)), nullptr);
  EXPECT_EQ(cache.find(file_of(7))->rows, 3);
  EXPECT_EQ(cache.find(file_of(8)), nullptr);
  for (auto part : {&FileIdentity::bytes, &FileIdentity::written_ns, &FileIdentity::changed_ns}) {
    FileIdentity changed = file_of(7);
    changed.*part += 1;
    EXPECT_EQ(cache.find(changed), nullptr);
  }
}

TEST(FooterCache, LeavesOutFilesThatWereJustWritten) {
  FooterCache cache;
  FileIdentity file = file_of(7);
  file.written_ns =
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  cache.keep(file, footer_of(3), 10);
  EXPECT_EQ(cache.find(file), nullptr);
}

TEST(FooterCache, ForgetsWhatWasAskedForTheLongestTimeAgo) {
  FooterCache cache(/*bytes_most=*/30);
  for (uint64_t number = 1; number <= 3; ++number) cache.keep(file_of(number), footer_of(1), 10);
  ASSERT_NE(cache.find(file_of(1)), nullptr);
  cache.keep(file_of(4), footer_of(1), 10);
  EXPECT_EQ(cache.find(file_of(2)), nullptr);
  EXPECT_NE(cache.find(file_of(1)), nullptr);
  cache.keep(file_of(5), footer_of(1), 31);
  EXPECT_EQ(cache.find(file_of(5)), nullptr);
  EXPECT_NE(cache.find(file_of(4)), nullptr);
}

// As it would be an hour ago.
void write_at(const std::string& path, const FileBytes& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::in | std::ios::out)
      .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
}

TEST(FooterCache, IsAskedByFilesThatAreOpenedAgain) {
  const FileBytes first = written_parquet({numbered_column("first", 100, 50, 0)});
  const FileBytes other = written_parquet({numbered_column("other", 100, 50, 0)});
  ASSERT_EQ(first.size(), other.size());
  const TemporaryFile file(first);
  write_at(file.path(), first);
  const auto before = ParquetFile::open(file.path());
  const auto again = ParquetFile::open(file.path(), /*stays_open=*/false);
  ASSERT_TRUE(before.ok() && again.ok());
  EXPECT_EQ(&before.value()->metadata(), &again.value()->metadata());
  EXPECT_EQ(again.value()->place({"first"}).leaf, 0);

  write_at(file.path(),
           other);  // in place: the same number, as many bytes, and nearly the same time
  const auto changed = ParquetFile::open(file.path());
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed.value()->place({"other"}).leaf, 0);
  EXPECT_FALSE(changed.value()->place({"first"}).is_there);
}

}  // namespace
}  // namespace crossdock::scan
