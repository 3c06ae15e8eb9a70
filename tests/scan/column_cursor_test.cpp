// Columns of written files, read in steps of all sizes, whole and by lists of rows.
#include "scan/column_cursor.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scan/local_file.hpp"
#include "scan/parquet_table.hpp"
#include "scan/written_parquet.hpp"

namespace crossdock::scan {
namespace {

using testing::HasSubstr;

DataType type_of(const char* format) { return parse_arrow_format(format).value(); }

Schema like(const std::string& name, const char* format) {
  Schema schema;
  schema.fields.push_back({name, type_of(format), true, ""});
  return schema;
}

std::string string_at(const ColumnView& column, int64_t row) {
  StringView view;
  std::memcpy(&view, column.values + row * 16, sizeof(view));
  const uint8_t* heap = view.bytes <= kInlineStringBytes ? nullptr : column.heaps[view.words[1]];
  return std::string(string_of(view, heap));
}

ColumnPath path_of(const WrittenColumn& column) {
  ColumnPath path = column.groups;
  path.push_back(column.name);
  return path;
}

// The first column of a file, read by a cursor.
class Reading {
 public:
  Reading(const WrittenColumn& column, const char* format)
      : file_(written_parquet({column})), column_(column) {
    auto opened = ParquetFiles::open({file_.path()});
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    auto files = opened.value()->with_paths({{column.name, path_of(column)}});
    auto table = ParquetTable::create(files, like(column.name, format), true);
    EXPECT_TRUE(table.ok()) << table.error().message;
    table_ = table.value();
    for (const auto& page : column_.pages) rows_.insert(rows_.end(), page.begin(), page.end());
    const ColumnForm& form = table_->columns()[0].form;
    std::shared_ptr<const StringCodes> codes;
    if (form.conversion == Conversion::kStringCodes) {
      codes = table_->files().string_codes(column.name, {0}, memory_).value();
    }
    cursor_ = std::make_unique<ColumnCursor>(form, codes, memory_);
    const ParquetFile& file = *table_->files().files()[0];
    cursor_->open(file.file(), form, table_->chunk(0, 0, 0), INT64_MAX);
  }

  // Rows [begin, begin + count), every `every`th of them.
  void expect_step(int64_t begin, int32_t count, uint32_t every) {
    std::vector<uint32_t> listed;
    for (uint32_t row = 0; row < static_cast<uint32_t>(count); row += every) listed.push_back(row);
    cursor_->step(begin, count);
    const auto row_count = static_cast<int32_t>(listed.size());
    const auto decoded = cursor_->decode(every == 1 ? nullptr : listed.data(), row_count);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    ASSERT_EQ(decoded.value().is_narrow, form().is_narrow);
    for (int32_t i = 0; i < row_count; ++i) {
      const WrittenValue& value =
          rows_[static_cast<size_t>(begin) + listed[static_cast<size_t>(i)]];
      ASSERT_EQ(decoded.value().is_valid(i), !value.is_null) << begin << " + " << i;
      if (!value.is_null) expect_value(decoded.value(), i, value);
    }
  }

  void expect_all(int32_t step, uint32_t every) {
    const auto rows = static_cast<int64_t>(rows_.size());
    for (int64_t at = 0; at < rows; at += step) {
      expect_step(at, static_cast<int32_t>(std::min<int64_t>(step, rows - at)), every);
    }
  }

  ColumnCursor& cursor() { return *cursor_; }
  const ColumnForm& form() const { return table_->columns()[0].form; }

 private:
  void expect_value(const ColumnView& decoded, int64_t row, const WrittenValue& value) {
    const DataType& type = table_->columns()[0].form.type;
    if (type.id == TypeId::kUtf8View) {
      ASSERT_EQ(string_at(decoded, row), value.text);
    } else if (type.id == TypeId::kDictionary) {
      const auto* offsets = static_cast<const int32_t*>(decoded.dictionary->offsets);
      const int32_t code = decoded.data<int32_t>()[row];
      const auto* bytes = reinterpret_cast<const char*>(decoded.dictionary->values);
      const auto length = static_cast<size_t>(offsets[code + 1] - offsets[code]);
      ASSERT_EQ(std::string(bytes + offsets[code], length), value.text);
    } else if (type.id == TypeId::kInt32) {
      ASSERT_EQ(decoded.data<int32_t>()[row], value.number);
    } else if (type.id == TypeId::kDecimal128) {
      const auto factor = static_cast<int64_t>(table_->columns()[0].form.factor);
      const int64_t place = decoded.is_narrow ? row : 2 * row;
      ASSERT_EQ(decoded.data<int64_t>()[place], value.number * factor);
    } else {
      ASSERT_EQ(decoded.data<int64_t>()[row], value.number);
    }
  }

  TemporaryFile file_;
  WrittenColumn column_;
  std::vector<WrittenValue> rows_;
  std::shared_ptr<Memory> memory_ = Memory::create(int64_t{1} << 28);
  std::shared_ptr<const ParquetTable> table_;
  std::unique_ptr<ColumnCursor> cursor_;
};

TEST(ColumnCursor, ReadsNumbersWhateverTheStepsAndPages) {
  for (const int64_t null_step : {0, 1, 2, 7}) {
    for (const bool second : {false, true}) {
      for (const int32_t coded : {0, 3, 1000}) {
        WrittenColumn column = numbered_column("n", 700, 96, null_step);
        column.second_version = second;
        column.coded_pages = std::min(coded, static_cast<int32_t>(column.pages.size()));
        for (const int32_t step : {64, 100, 512, 700}) {
          for (const uint32_t every : {1U, 3U, 250U}) Reading(column, "l").expect_all(step, every);
        }
      }
    }
  }
}

TEST(ColumnCursor, ReadsStringsAsViewsAndAsCodes) {
  for (const int32_t coded : {0, 4, 11}) {
    WrittenColumn column = string_column("t", 1000, 96, 37);
    column.coded_pages = coded;
    const Reading whole(column, "u");
    for (const int32_t step : {50, 333, 1000}) {
      for (const uint32_t every : {1U, 5U}) Reading(column, "u").expect_all(step, every);
    }
  }
}

TEST(ColumnCursor, ReadsFieldsOfStructs) {
  const std::vector<std::vector<std::string>> nestings = {{"a"}, {"a", "b"}, {"a", "b", "c", "d"}};
  for (const auto& groups : nestings) {
    for (const int64_t null_step : {0, 1, 2, 7}) {
      for (const bool second : {false, true}) {
        for (const int32_t coded : {0, 3, 8}) {
          WrittenColumn column = in_groups(numbered_column("n", 700, 96, null_step), groups);
          column.second_version = second;
          column.coded_pages = coded;
          for (const int32_t step : {100, 700}) {
            for (const uint32_t every : {1U, 3U}) Reading(column, "l").expect_all(step, every);
          }
        }
      }
    }
    WrittenColumn strings = in_groups(string_column("t", 1000, 96, 37), groups);
    for (const int32_t coded : {0, 4, 11}) {
      strings.coded_pages = coded;
      Reading(strings, "u").expect_all(333, 1);
    }
  }
}

TEST(ColumnCursor, SkipsStepsThatNobodyAsksFor) {
  Reading reading(numbered_column("n", 1000, 100, 3), "l");
  reading.expect_step(0, 50, 1);
  reading.cursor().step(50, 600);
  reading.expect_step(650, 30, 1);
  reading.expect_step(680, 320, 60);
}

TEST(ColumnCursor, GivesCodesWhereAllPagesAreCoded) {
  WrittenColumn column = string_column("t", 300, 100, 5);
  column.coded_pages = 2;
  Reading reading(column, "u");
  reading.cursor().step(0, 200);
  const auto codes = reading.cursor().codes(nullptr, 200);
  ASSERT_TRUE(codes.ok());
  ASSERT_NE(codes.value(), nullptr);
  EXPECT_EQ(reading.cursor().dictionary_length(), 5);
  EXPECT_EQ(reading.cursor().dictionary().value().length, 5);
  for (uint32_t i = 0; i < 200; ++i) ASSERT_EQ(codes.value()[i], i % 5);
  reading.cursor().step(200, 100);
  const auto plain = reading.cursor().codes(nullptr, 100);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain.value(), nullptr);
}

TEST(ColumnCursor, ReadsNarrowIntegers) {
  WrittenColumn column = numbered_column("n", 300, 70, 4);
  column.physical = PhysicalType::kInt32;
  Reading(column, "i").expect_all(128, 1);
}

TEST(ColumnCursor, ReadsDecimalsInAsManyBitsAsTheyMayNeed) {
  const auto is_narrow = [](PhysicalType physical, const char* format, int32_t coded) {
    WrittenColumn column = numbered_column("n", 300, 70, 4);
    column.physical = physical;
    column.coded_pages = coded;
    column.pages[2][1].number = std::numeric_limits<int32_t>::max();
    column.pages[2][2].number = std::numeric_limits<int32_t>::min();
    Reading(column, format).expect_all(128, 3);
    Reading reading(column, format);
    reading.expect_all(128, 1);
    return reading.form().is_narrow;
  };
  for (const int32_t coded : {0, 3, 5}) {
    EXPECT_TRUE(is_narrow(PhysicalType::kInt32, "d:12,0", coded));
    EXPECT_TRUE(is_narrow(PhysicalType::kInt32, "d:18,8", coded));
    EXPECT_FALSE(is_narrow(PhysicalType::kInt32, "d:19,2", coded));
    EXPECT_FALSE(is_narrow(PhysicalType::kInt64, "d:19,0", coded));
  }
}

TEST(ParquetTable, SaysWhatItDoesNotRead) {
  const TemporaryFile file(written_parquet({numbered_column("n", 10, 10, 0)}));
  const auto files = ParquetFiles::open({file.path()}).value();
  const auto as = [&](const std::string& name, const char* format) {
    const auto table = ParquetTable::create(files, like(name, format), true);
    return table.ok() ? std::string() : table.error().message;
  };
  EXPECT_EQ(as("n", "l"), "");
  EXPECT_THAT(as("n", "i"), HasSubstr("do not lie as int32"));
  EXPECT_THAT(as("n", "f"), HasSubstr("do not lie as float32"));
  EXPECT_THAT(as("n", "u"), HasSubstr("do not lie as utf8"));
  EXPECT_EQ(as("m", "l"), "");
}

TEST(ParquetTable, FindsFieldsByTheirPaths) {
  // Two structs, each written as one of its own, and a column beside them.
  const TemporaryFile file(written_parquet({in_groups(numbered_column("n", 10, 10, 0), {"a", "b"}),
                                            in_groups(numbered_column("m", 10, 10, 0), {"c"}),
                                            numbered_column("n", 10, 10, 0)}));
  const auto opened = ParquetFiles::open({file.path()}).value();
  const auto leaf_at = [&](const ColumnPath& path) { return opened->files()[0]->place(path).leaf; };
  EXPECT_EQ(leaf_at({"a", "b", "n"}), 0);
  EXPECT_EQ(leaf_at({"c", "m"}), 1);
  EXPECT_EQ(leaf_at({"n"}), 2);
  const auto as = [&](const ColumnPath& path) {
    const auto table =
        ParquetTable::create(opened->with_paths({{"x", path}}), like("x", "l"), true);
    return table.ok() ? std::string() : table.error().message;
  };
  EXPECT_EQ(as({"a", "b", "n"}), "");
  EXPECT_EQ(as({"a", "b", "m"}), "") << "a field that the file lacks is NULL";
  EXPECT_EQ(as({"c", "n"}), "");
  EXPECT_THAT(as({"a"}), HasSubstr("it is nested"));
  EXPECT_THAT(as({"a", "b"}), HasSubstr("it is nested"));
  EXPECT_THAT(as({"n", "n"}), HasSubstr("it is nested")) << "a field of a number";
}

TEST(ParquetTable, HasColumnsThatFilesLackOrHaveNarrower) {
  WrittenColumn narrow = numbered_column("n", 5, 3, 2);
  narrow.physical = PhysicalType::kInt32;
  const TemporaryFile first(written_parquet({narrow}));
  const TemporaryFile second(written_parquet({numbered_column("m", 5, 5, 0)}));
  const auto files = ParquetFiles::open({first.path(), second.path()}).value();
  EXPECT_EQ(files->schema_numbers(), (std::vector<int>{0, 1}));
  const auto table = ParquetTable::create(files, like("n", "l"), true).value();
  const auto memory = Memory::create(int64_t{1} << 24);
  ColumnCursor cursor(table->columns()[0].form, nullptr, memory);
  for (int file = 0; file < 2; ++file) {
    const auto& of = *files->files()[static_cast<size_t>(file)];
    cursor.open(of.file(), table->columns()[0].form_in(file), table->chunk(0, file, 0), 5);
    cursor.step(0, 5);
    const ColumnView decoded = cursor.decode(nullptr, 5).value();
    for (int64_t row = 0; row < 5; ++row) {
      ASSERT_EQ(decoded.is_valid(row), file == 0 && row % 2 == 1) << file << " " << row;
      if (file == 0 && row % 2 == 1) {
        EXPECT_EQ(decoded.data<int64_t>()[row], row);
      }
    }
  }
}

TEST(ParquetTable, HasOneValueForAFile) {
  const TemporaryFile file(written_parquet({numbered_column("n", 9, 9, 0)}));
  const auto files = ParquetFiles::open({file.path(), file.path()}).value();
  Table values;
  auto schema = std::make_shared<Schema>(like("t", "u"));
  values.schema = schema;
  values.rows = 2;
  const std::string bytes = "shorta longer one";
  const int32_t offsets[] = {0, 5, 17};
  Batch batch{schema, 2, std::vector<ColumnView>(1), nullptr};
  batch.columns[0].length = 2;
  batch.columns[0].values = reinterpret_cast<const uint8_t*>(bytes.data());
  batch.columns[0].offsets = offsets;
  values.batches = {batch};
  const auto known = files->with_values(values).value();
  const auto memory = Memory::create(int64_t{1} << 24);
  for (const bool coded : {false, true}) {
    const auto table = ParquetTable::create(known, like("t", "u"), coded).value();
    const ParquetColumn& column = table->columns()[0];
    std::shared_ptr<const StringCodes> codes;
    if (coded) codes = known->string_codes("t", column.leaves, memory).value();
    ColumnCursor cursor(column.form, codes, memory);
    for (int f = 0; f < 2; ++f) {
      cursor.open(files->files()[0]->file(), column.form_in(f), table->chunk(0, f, 0), 9);
      cursor.step(0, 9);
      EXPECT_EQ(cursor.codes(nullptr, 9).value(), nullptr);
      const ColumnView decoded = cursor.decode(nullptr, 9).value();
      for (int64_t row = 0; row < 9; ++row) {
        if (coded) {
          EXPECT_EQ(decoded.data<int32_t>()[row], f);
        } else {
          EXPECT_EQ(string_at(decoded, row), f == 0 ? "short" : "a longer one");
        }
      }
      EXPECT_EQ(table->chunk(0, f, 0).statistics.max, f == 0 ? "short" : "a longer one");
    }
  }
  values.rows = 1;
  EXPECT_FALSE(files->with_values(values).ok());
}

TEST(LocalFile, IsTheSameWheneverItIsRead) {
  const FileBytes bytes(100, 7);
  const TemporaryFile written(bytes);
  const auto file = LocalFile::open(written.path(), false).value();
  std::vector<uint8_t> some(10);
  EXPECT_TRUE(file->read(90, some).ok());
  std::ofstream(written.path(), std::ios::app) << "more";
  const Status changed = file->read(0, some);
  ASSERT_FALSE(changed.ok());
  EXPECT_THAT(changed.error().message, HasSubstr("has changed"));
}

TEST(ParquetFile, RefusesWhatIsCut) {
  const FileBytes whole = written_parquet({numbered_column("n", 200, 50, 0)});
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const TemporaryFile file(std::span<const uint8_t>(whole).first(bytes));
    EXPECT_FALSE(ParquetFile::open(file.path()).ok()) << bytes;
  }
}

}  // namespace
}  // namespace crossdock::scan
