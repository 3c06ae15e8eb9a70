// CRC-32C: the standard's values, and every length by every set of instructions that this processor has.
#include "data/rings/crc32c.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace crossdock::rings {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Bit by bit, as the definition says.
uint32_t crc_by_definition(std::span<const std::byte> bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
  }
  return ~crc;
}

std::vector<std::byte> random_bytes(size_t count) {
  std::minstd_rand random(5);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 8);
  return bytes;
}

TEST(Crc32c, gives_the_values_of_the_standard) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283U);
  EXPECT_EQ(crc32c(bytes_of("")), 0U);
  // RFC 3720, B.4: 32 bytes each, and 48 of a read command.
  std::string counted(32, '\0');
  EXPECT_EQ(crc32c(bytes_of(counted)), 0x8A9136AAU);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\xFF'))), 0x62A8AB43U);
  std::iota(counted.begin(), counted.end(), '\0');
  EXPECT_EQ(crc32c(bytes_of(counted)), 0x46DD794EU);
  EXPECT_EQ(crc32c(bytes_of(std::string(counted.rbegin(), counted.rend()))), 0x113FDB5CU);
  std::string command(48, '\0');
  command[0] = '\x01';
  command[1] = '\xC0';
  command[16] = '\x14';
  command[22] = '\x04';
  command[27] = '\x14';
  command[31] = '\x18';
  command[32] = '\x28';
  command[40] = '\x02';
  EXPECT_EQ(crc32c(bytes_of(command)), 0xD9963A56U);
}

TEST(Crc32c, goes_on_from_what_came_before) {
  const auto bytes = random_bytes(700);
  const uint32_t whole = crc32c(bytes);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const auto all = std::span(bytes);
    EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), whole) << cut;
  }
}

TEST(Crc32c, every_length_and_place_by_every_instruction_set) {
  const auto bytes = random_bytes(1500);
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (size_t length = 0; length < 1400; ++length) {
      const auto part = std::span(bytes).subspan(length % 67, length);
      const uint32_t crc = crc_by_definition(part);
      ASSERT_EQ(crc32c(part), crc) << length << " bytes by " << hwy::TargetName(left & -left);
      std::vector<std::byte> copy(length + 1, std::byte{0xA5});
      ASSERT_EQ(copy_crc32c(part, copy.data()), crc)
          << length << " bytes copied by " << hwy::TargetName(left & -left);
      ASSERT_TRUE(std::equal(part.begin(), part.end(), copy.begin())) << length;
      ASSERT_EQ(copy.back(), std::byte{0xA5}) << length;
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace
}  // namespace crossdock::rings
