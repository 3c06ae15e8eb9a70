// Heads of strings, by which most comparisons with a constant are comparisons of words. Internal to the room.
#pragma once

#include <cstdint>
#include <string_view>

#include "expressions/step_frame.hpp"

namespace crossdock::expressions::steps {

// Strings of at most so many bytes are equal where their heads are; of longer ones that may still be.
constexpr size_t kHeadBytes = 7;

// The first 7 bytes, zeros behind the end, and then the length, at most 255.
uint64_t head_of(std::string_view string);

// The heads of a step of strings, of which those of a column are read where they lie. Rows that are not valid may have
// any head, and so may strings longer than `longest`, but for the length in it: they are not looked for.
void load_heads(const Frame& frame, int32_t index, size_t longest, uint64_t* heads);

}  // namespace crossdock::expressions::steps
