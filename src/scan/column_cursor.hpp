// Reads one column of a row group in steps: rows [begin, begin + rows), of which only those are decoded that are asked
// for. A page none of whose rows is asked for is not decompressed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/budget.hpp"
#include "scan/column_form.hpp"
#include "scan/page_store.hpp"
#include "scan/page_values.hpp"
#include "scan/string_codes.hpp"
#include "scan/value_conversion.hpp"
#include "table/column.hpp"

namespace crossdock::scan {

// One worker's own. Errors of all that read: kSourceFailed, with file and column; kOutOfMemoryBudget.
class ColumnCursor {
 public:
  // `form`: of any file; the type is that of all. `codes`: for Conversion::kStringCodes.
  ColumnCursor(ColumnForm form,
               std::shared_ptr<const StringCodes> codes,
               std::shared_ptr<Memory> memory);

  // Goes to a row group, whose chunk must outlive the steps; `form`: of its file. Reads nothing. `rows`: of it that
  // there will be steps of, at most. `places`: of its pages, if known; others than those of the steps are not read.
  void open(const ByteSource& file,
            const ColumnForm& form,
            const ColumnChunk& chunk,
            int64_t rows,
            std::span<const PagePlace> places = {});
  // What open() has gone to and what it may go to next, as of PageStore::expect().
  void expect(std::span<const ColumnChunk* const> chunks) { store_.expect(chunks); }
  static constexpr size_t kExpectedMost = PageStore::kExpectedMost;
  // What was decoded for the last step is no longer valid. Steps of a row group ascend.
  void step(int64_t begin, int32_t rows);

  // The code of each row of the step that is listed (nullptr: of all; others' are anything), or that of a null,
  // which is dictionary_length(). Nothing where pages of these rows are not coded.
  Result<const uint32_t*> codes(const uint32_t* rows, int32_t count);
  // After codes().
  int32_t dictionary_length() const { return store_.dictionary_values(); }
  // The values of the codes, in the type of the column; made once for a row group.
  Result<ColumnView> dictionary();

  // The listed rows of the step, ascending (nullptr: all); one list must not have rows that one before it lacked.
  // Valid until the next call. Decimals are narrow where the form says so.
  Result<ColumnView> decode(const uint32_t* rows, int32_t count);

 private:
  struct Portion {  // the rows of the step that are of one page
    DataPage* page = nullptr;
    int32_t first = 0;  // in the step
    int32_t rows = 0;
    bool is_ready = false;
    bool has_nulls = false;
    PageValues::Kind kind = PageValues::Kind::kFixed;
    const uint8_t* fixed = nullptr;
    int32_t values = 0;  // that are not null
  };

  Status in_chunk(Status status) const;
  Status enter(int32_t rows_wanted);
  Status reserve(Block& block, int64_t bytes);
  Status prepare(const uint32_t* rows, int32_t count);
  Status prepare_portion(Portion& portion);
  Status begin_page(DataPage& page);
  Status skip_rows(int64_t rows);
  Status read_levels(Portion& portion);
  Status read_values(Portion& portion);
  Status spread_codes(const Portion& portion);
  void point_at_dictionary();
  Status load_dictionary();
  bool converts_dictionary(int32_t count) const;
  Status make_dictionary();
  Status make_string_dictionary(int32_t count);
  Status decode_portions(const uint32_t* rows, int32_t count);
  Status decode_portion(const Portion& portion, const uint32_t* rows, int32_t count, int32_t at);
  Result<int32_t> code_of(const StringView& view) const;
  Result<ColumnView> repeat(int32_t count);
  Result<int32_t> repeated_code() const;
  Result<StringView> repeated_view();
  Status convert(const uint8_t* from, ValueList list, uint8_t* out) const;
  const uint32_t* index_of(const Portion& portion, const uint32_t* rows, int32_t count);

  ColumnForm form_;
  const Layout layout_;
  int32_t width_;  // bytes of a decoded value
  std::shared_ptr<const StringCodes> string_codes_;
  std::shared_ptr<Memory> memory_;
  PageStore store_;
  const ByteSource* file_ = nullptr;
  const ColumnChunk* chunk_ = nullptr;
  std::span<const PagePlace> places_;
  int64_t rows_ahead_ = 0;   // of the chunk, that there will be steps of
  bool is_open_ = false;     // store_ is at the chunk
  bool is_entered_ = false;  // portions_ are those of the step
  int64_t step_begin_ = 0;
  int32_t step_rows_ = 0;
  int64_t capacity_ = 0;  // rows that the memory of rows has room for
  std::vector<Portion> portions_;

  int64_t page_begin_ = -1;  // of the page that values_ and levels_ are of
  int64_t page_row_ = 0;     // next row of it
  PageValues values_;
  RunDecoder levels_;
  uint32_t level_ = 0;  // of a value that is not NULL
  bool has_levels_ = false;

  // By row of the step.
  Block codes_;    // uint32_t
  Block ranks_;    // uint32_t: number of the row's value among the values of the portion
  Block valid_;    // bytes
  Block strings_;  // StringView, by number of the value
  Block bits_;     // bytes, by number of the value
  Block dictionary_memory_;
  bool has_dictionary_ = false;
  ColumnView dictionary_;
  std::vector<const uint8_t*> heaps_;  // [0]: the dictionary's
  std::vector<int64_t> heap_bytes_;

  // By decoded row.
  Block index_;      // uint32_t
  Block out_;        // values; bytes for booleans
  Block out_bits_;   // booleans
  Block out_valid_;  // bytes
  Block out_bitmap_;
  bool any_nulls_ = false;
};

}  // namespace crossdock::scan
