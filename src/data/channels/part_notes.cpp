// "part 7", "over 7 617 rank 3 has ended".
#include "data/channels/part_notes.hpp"

#include <charconv>
#include <string_view>

#include "data/ranks/agreement.hpp"
#include "data/transports/link.hpp"

namespace crossdock::channels {
namespace {

constexpr std::string_view kPartWord = "part ";
constexpr std::string_view kOverWord = "over ";

}  // namespace

std::string note_text(const PartNote& note) {
  if (note.kind == PartNote::Kind::kPart) return fmt::format("{}{}", kPartWord, note.channel);
  const std::string begin = fmt::format("{}{} ", kOverWord, note.channel);
  return begin + ranks::error_text(note.cause, transports::kNoteBytesMax - begin.size());
}

std::optional<PartNote> parse_note(const std::string& text) {
  PartNote note;
  if (text.starts_with(kOverWord)) {
    note.kind = PartNote::Kind::kOver;
  } else if (!text.starts_with(kPartWord)) {
    return std::nullopt;
  }
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data() + kPartWord.size(), end, note.channel);
  if (failure != std::errc()) return std::nullopt;
  if (note.kind == PartNote::Kind::kPart) return rest == end ? std::optional(note) : std::nullopt;
  if (rest == end || *rest != ' ') return std::nullopt;
  note.cause = ranks::error_of_text(std::string(rest + 1, end));
  return note;
}

}  // namespace crossdock::channels
