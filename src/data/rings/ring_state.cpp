#include "data/rings/ring_state.hpp"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/ring_traits.hpp"

namespace crossdock::rings {
namespace {

constexpr uint64_t kSlotsPrinted = 16;
static_assert(
    std::is_same_v<
        RingDefaults::Word,
        SegmentWord<WordWidths{}.generation_bits, WordWidths{}.heap_bits, WordWidths{}.row_bits>>);

uint64_t peek(uint64_t& word) { return StdAtomic<uint64_t, Scope::kSystem>(word).load(Relaxed{}); }

uint64_t bits_of(uint64_t word, int from, int count) {
  return word >> from & ((uint64_t{1} << count) - 1);
}

std::string slot_state(const Ring& ring, uint64_t slot, const WordWidths& widths) {
  const uint64_t word = peek(ring.word(slot));
  const int heap_from = 2 * widths.row_bits;
  const int generation_from = heap_from + widths.heap_bits;
  return fmt::format(
      " | slot {}: {} gen {} heap {} reserved {} committed {} ready {}",
      slot,
      bits_of(word, generation_from + widths.generation_bits, 1) != 0 ? "closed" : "open",
      bits_of(word, generation_from, widths.generation_bits),
      bits_of(word, heap_from, widths.heap_bits),
      bits_of(word, widths.row_bits, widths.row_bits),
      bits_of(word, 0, widths.row_bits),
      peek(ring.ready_word(slot)));
}

}  // namespace

std::string ring_state(const Ring& ring, const WordWidths& widths) {
  const uint64_t head = peek(*ring.head);
  std::string text =
      fmt::format("tail {} head {} lock {}", peek(*ring.tail), head, peek(*ring.lock));
  const uint64_t printed = std::min(ring.slots(), kSlotsPrinted);
  for (uint64_t ahead = 0; ahead < printed; ++ahead)
    text += slot_state(ring, ring.slot_of(head + ahead), widths);
  if (printed < ring.slots()) text += fmt::format(" | {} more slots", ring.slots() - printed);
  return text;
}

RingProgress ring_progress(const Ring& ring) {
  using Word = CpuRingTraits::Atomic<uint64_t, CpuRingTraits::kHandOver>;
  RingProgress progress;
  progress.recycled = progress.published = Word(*ring.head).load(Acquire{});
  while (progress.published - progress.recycled < ring.slots()) {
    const uint64_t ready = Word(ring.ready_word(ring.slot_of(progress.published))).load(Relaxed{});
    if (ready != CpuRingTraits::Word::generation_at(progress.published, ring.shape.slot_bits))
      break;
    ++progress.published;
  }
  return progress;
}

}  // namespace crossdock::rings
