// Rows by reference: the first and last ones, and those of the least and greatest values.
#include <algorithm>

#include "operators/group_by/accumulator.hpp"
#include "operators/group_by/ordered_lanes.hpp"
#include "table/order_key_reader.hpp"

namespace crossdock::operators {
namespace {

static_assert(static_cast<RowRef>(kNullRef + 1) == 0,
              "no row is behind all rows, and next to it before them");

// Whether `ref` is further before the row that is kept, or behind it: references ascend with the position of the row.
template <bool kIsLast>
bool is_further(RowRef ref, RowRef kept) {
  if constexpr (!kIsLast) return ref < kept;
  return static_cast<RowRef>(ref + 1) > static_cast<RowRef>(kept + 1);
}

template <bool kIsLast>
class EndRefAccumulator : public RefAccumulator {
 public:
  EndRefAccumulator(Memory& memory, int input) : RefAccumulator(memory), input_(input) {}
  Status update(const GroupBlock& block) override {
    const uint8_t* valid = input_ >= 0 ? block.inputs[input_].valid : nullptr;
    for (int32_t i = 0; i < block.rows; ++i) {
      RowRef& kept = refs_[block.groups[i]];
      const bool counts = valid == nullptr || valid[i] != 0;
      kept = counts && is_further<kIsLast>(block.refs[i], kept) ? block.refs[i] : kept;
    }
    return {};
  }
  Status merge(const Accumulator& from, const GroupPairs& pairs) override {
    const auto& other = static_cast<const EndRefAccumulator&>(from);
    for (int32_t i = 0; i < pairs.count; ++i) {
      RowRef& kept = refs_[pairs.to[i]];
      const RowRef more = other.refs_[pairs.from[i]];
      kept = is_further<kIsLast>(more, kept) ? more : kept;
    }
    return {};
  }

 private:
  int input_;
};

// The row of the least word, where words order as the values do, and the first or last of equal ones.
template <class Word, bool kIsLast>
class ArgAccumulator : public RefAccumulator {
 public:
  ArgAccumulator(Memory& memory, const AccumulatorSpec& spec)
      : RefAccumulator(memory),
        words_(memory),
        input_(spec.input),
        form_(spec.form),
        flips_(spec.kind == AccumulatorKind::kArgMax ? ~Word{0} : Word{0}) {}
  Status resize(int64_t groups) override {
    CD_TRY(words_.grow(groups, ~Word{0}));
    return RefAccumulator::resize(groups);
  }
  void clear() override {
    words_.clear();
    RefAccumulator::clear();
  }
  Status update(const GroupBlock& block) override {
    Word words[kGroupRows];
    const InputLane& lane = block.inputs[input_];
    order_lane(lane, form_, block.rows, words);
    for (int32_t i = 0; i < block.rows; ++i) {
      if (lane.valid == nullptr || lane.valid[i] != 0) {
        offer(block.groups[i], words[i] ^ flips_, block.refs[i]);
      }
    }
    return {};
  }
  Status merge(const Accumulator& from, const GroupPairs& pairs) override {
    const auto& other = static_cast<const ArgAccumulator&>(from);
    for (int32_t i = 0; i < pairs.count; ++i) {
      offer(pairs.to[i], other.words_[pairs.from[i]], other.refs_[pairs.from[i]]);
    }
    return {};
  }

 private:
  void offer(uint32_t group, Word word, RowRef ref) {
    const bool is_better =
        word < words_[group] || (word == words_[group] && is_further<kIsLast>(ref, refs_[group]));
    words_[group] = is_better ? word : words_[group];
    refs_[group] = is_better ? ref : refs_[group];
  }

  StateArray<Word> words_;
  int input_;
  ValueForm form_;
  Word flips_;
};

// Least or greatest string, bytewise; the first or last row that has it.
template <bool kIsLast>
class TextExtremeAccumulator : public RefAccumulator {
 public:
  TextExtremeAccumulator(const AccumulatorContext& context, int input, bool is_min)
      : RefAccumulator(*context.memory),
        strings_(*context.memory),
        reader_(*context.column),
        input_(input),
        is_min_(is_min) {}
  Status resize(int64_t groups) override {
    CD_TRY(strings_.grow(groups, keys::Slice{}));
    return RefAccumulator::resize(groups);
  }
  void clear() override {
    strings_.clear();
    RefAccumulator::clear();
  }
  Status update(const GroupBlock& block) override {
    keys::Slice slices[kGroupRows];
    const uint8_t* valid = block.inputs[input_].valid;
    reader_.read(block.refs, block.rows, valid, slices);
    for (int32_t i = 0; i < block.rows; ++i) {
      if (valid == nullptr || valid[i] != 0) offer(block.groups[i], block.refs[i], slices[i]);
    }
    return {};
  }
  Status merge(const Accumulator& from, const GroupPairs& pairs) override {
    const auto& other = static_cast<const TextExtremeAccumulator&>(from);
    for (int32_t i = 0; i < pairs.count; ++i) {
      const uint32_t group = pairs.from[i];
      if (other.refs_[group] != kNullRef)
        offer(pairs.to[i], other.refs_[group], other.strings_[group]);
    }
    return {};
  }

 private:
  void offer(uint32_t group, RowRef ref, const keys::Slice& string) {
    if (refs_[group] != kNullRef) {
      const int order = compare_strings(string, strings_[group]);
      if (order == 0 ? !is_further<kIsLast>(ref, refs_[group]) : (order > 0) == is_min_) return;
    }
    refs_[group] = ref;
    strings_[group] = string;
  }

  StateArray<keys::Slice> strings_;
  TextReader reader_;
  int input_;
  bool is_min_;
};

template <bool kIsLast>
std::unique_ptr<Accumulator> make_extreme(const AccumulatorSpec& spec,
                                          const AccumulatorContext& context) {
  Memory& memory = *context.memory;
  switch (spec.kind) {
    case AccumulatorKind::kArgMin:
    case AccumulatorKind::kArgMax:
      if (spec.form == ValueForm::kWide) {
        return std::make_unique<ArgAccumulator<UInt128, kIsLast>>(memory, spec);
      }
      return std::make_unique<ArgAccumulator<uint64_t, kIsLast>>(memory, spec);
    default:
      return std::make_unique<TextExtremeAccumulator<kIsLast>>(
          context, spec.input, spec.kind == AccumulatorKind::kMinRef);
  }
}

}  // namespace

std::unique_ptr<Accumulator> make_ref_accumulator(const AccumulatorSpec& spec,
                                                  const AccumulatorContext& context) {
  Memory& memory = *context.memory;
  switch (spec.kind) {
    case AccumulatorKind::kFirstRef:
      return std::make_unique<EndRefAccumulator<false>>(memory, spec.input);
    case AccumulatorKind::kLastRef:
      return std::make_unique<EndRefAccumulator<true>>(memory, spec.input);
    default:
      return spec.last_of_equals ? make_extreme<true>(spec, context)
                                 : make_extreme<false>(spec, context);
  }
}

}  // namespace crossdock::operators
