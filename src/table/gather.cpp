// Puts an output column together from the parts in gather_parts.hpp, and its owner with it.
#include "table/gather.hpp"

#include <utility>

#include "base/check.hpp"
#include "table/gather_parts.hpp"

namespace crossdock {
namespace {

using gathering::Request;

// Everything behind an output column.
struct GatheredMemory {
  Block values;
  Block offsets;
  Block validity;
  std::shared_ptr<const ViewHeaps> heaps;
  std::shared_ptr<const void> keep;
};

struct Output {
  ColumnView view;
  GatheredMemory memory;
};

// A column without rows can only give nulls.
Result<Output> all_null(const Request& request) {
  const auto count = static_cast<int64_t>(request.refs.size());
  for (const RowRef ref : request.refs) CD_CHECK(ref == kNullRef, "ref {} of no rows", ref);
  constexpr int64_t kWidest = 16;
  Output output;
  CD_ASSIGN(output.memory.values, request.memory.get(count * kWidest, "gather nulls"));
  CD_ASSIGN(output.memory.offsets, request.memory.get((count + 1) * 8, "gather nulls"));
  CD_ASSIGN(output.memory.validity, request.memory.get((count + 7) / 8, "gather nulls"));
  for (Block* block : {&output.memory.values, &output.memory.offsets, &output.memory.validity}) {
    std::memset(block->data(), 0, block->bytes());
  }
  output.view.null_count = count;
  return output;
}

Result<Output> gather_rows(const Request& request) {
  Output output;
  CD_ASSIGN(gathering::Validity validity, gathering::gather_validity(request));
  output.view.null_count = validity.null_count;
  switch (layout(request.column.field->type)) {
    case Layout::kBits: {
      CD_ASSIGN(output.memory.values, gathering::gather_bits(request));
      break;
    }
    case Layout::kFixed: {
      CD_ASSIGN(output.memory.values, gathering::gather_fixed(request));
      break;
    }
    case Layout::kViews: {
      CD_ASSIGN(gathering::Views views, gathering::gather_views(request, validity));
      output.memory.values = std::move(views.values);
      if (views.any_long) output.memory.heaps = request.column.heaps;
      break;
    }
    case Layout::kOffsets32: {
      CD_ASSIGN(gathering::Strings strings, gathering::gather_strings<int32_t>(request, validity));
      output.memory.values = std::move(strings.bytes);
      output.memory.offsets = std::move(strings.offsets);
      break;
    }
    case Layout::kOffsets64: {
      CD_ASSIGN(gathering::Strings strings, gathering::gather_strings<int64_t>(request, validity));
      output.memory.values = std::move(strings.bytes);
      output.memory.offsets = std::move(strings.offsets);
      break;
    }
  }
  output.memory.validity = std::move(validity.bitmap);
  return output;
}

bool has_offsets(Layout lay) { return lay == Layout::kOffsets32 || lay == Layout::kOffsets64; }

}  // namespace

Result<OwnedColumn> gather(const ChunkedColumn& column,
                           std::span<const RowRef> refs,
                           const std::shared_ptr<const void>& keep,
                           Memory& memory) {
  const Request request{column, refs, gathering::any_null_ref(refs), memory};
  auto gathered = column.any_ref == kNullRef ? all_null(request) : gather_rows(request);
  if (!gathered.ok()) return gathered.error();
  auto owner = std::make_shared<GatheredMemory>(std::move(gathered.value().memory));
  ColumnView view = gathered.value().view;
  view.length = static_cast<int64_t>(refs.size());
  view.values = owner->values.data();
  if (has_offsets(layout(column.field->type))) view.offsets = owner->offsets.data();
  if (view.null_count > 0) view.validity = owner->validity.data();
  if (owner->heaps != nullptr) {
    view.heaps = owner->heaps->data.data();
    view.heap_bytes = owner->heaps->bytes.data();
    view.heap_count = static_cast<int32_t>(owner->heaps->data.size());
  }
  view.dictionary = column.dictionary;
  if (owner->heaps != nullptr || view.dictionary != nullptr) owner->keep = keep;
  return OwnedColumn{view, std::move(owner)};
}

}  // namespace crossdock
