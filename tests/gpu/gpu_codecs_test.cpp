// Coding on a real GPU: what the tests of data/codecs/device say of CPU threads, said of kernels.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/codecs/device/made_columns.hpp"
#include "gpu/gpu_coding.hpp"

namespace crossdock {
namespace {

using ::testing::HasSubstr;

// Values of the host with what a launch needs to know of them.
struct MadeGpuColumns {
  std::vector<std::vector<uint64_t>> words;
  std::vector<GpuColumn> columns;
  std::vector<std::string> names;

  void add(const codecs::HardColumn& column,
           const codecs::CodedValues& kind,
           const codecs::CodecScheme& scheme) {
    words.push_back(codecs::narrow_words(column.values, kind.width));
    const auto bytes = std::as_bytes(std::span(words.back()));
    columns.push_back(
        {bytes.first(column.values.size() * static_cast<size_t>(kind.width)), kind, scheme});
    names.push_back(column.name);
  }
};

// The reference's bytes, and back.
void expect_like_reference(const MadeGpuColumns& on_gpu, uint32_t blocks) {
  GpuCoding coding;
  const Status opened = coding.open(on_gpu.columns, blocks);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const Result<double> encoded = coding.encode();
  ASSERT_TRUE(encoded.ok()) << encoded.error().message;
  const Result<double> decoded = coding.decode();
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  for (size_t i = 0; i < on_gpu.columns.size(); ++i) {
    const auto& [values, kind, scheme] = on_gpu.columns[i];
    ASSERT_EQ(coding.coded(i).value(), codecs::reference_of(scheme, kind, values))
        << on_gpu.names[i] << " x " << kind.width << ", " << int{scheme.runs} << " "
        << int{scheme.deltas};
    ASSERT_TRUE(std::ranges::equal(coding.decoded(i).value(), values)) << on_gpu.names[i];
  }
}

TEST(GpuCodecs, WriteTheBytesOfTheReferenceForEveryColumnInEveryScheme) {
  for (const int64_t count : {0, 1, 255, 256, 1023, 1024, 1025, 5000}) {
    MadeGpuColumns on_gpu;
    for (const codecs::HardColumn& hard : codecs::hard_columns(count)) {
      for (const int width : {1, 2, 4, 8}) {
        for (const codecs::CodecScheme& scheme : codecs::every_scheme())
          on_gpu.add(hard, {width, true}, scheme);
      }
      for (const int width : {1, 2, 4}) on_gpu.add(hard, {width, false}, {1, 1});
    }
    expect_like_reference(on_gpu, 1024);
    if (HasFatalFailure()) return;
  }
}

TEST(GpuCodecs, PlaceManyTilesOfOneColumnInTheirOrder) {
  for (const uint32_t blocks : {1U, 3U, 2048U}) {
    MadeGpuColumns on_gpu;
    for (const codecs::HardColumn& hard : codecs::hard_columns(1 << 20))
      on_gpu.add(hard, {8, true}, {2, 1});
    expect_like_reference(on_gpu, blocks);
    if (HasFatalFailure()) return;
  }
}

TEST(GpuCodecs, RefuseWhatIsNoBlockWithoutTouchingTheRest) {
  MadeGpuColumns on_gpu;
  const codecs::HardColumn orders = codecs::hard_columns(100'000)[5];
  for (int i = 0; i < 3; ++i) on_gpu.add(orders, {8, true}, {2, 1});
  GpuCoding coding;
  ASSERT_TRUE(coding.open(on_gpu.columns, 256).ok());
  ASSERT_TRUE(coding.encode().ok());
  const std::vector<uint64_t> good = coding.coded(1).value();
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> changed = good;
    for (int change = 0; change < 3; ++change)
      changed[random() % changed.size()] ^= uint64_t{1} << random() % 64;
    ASSERT_TRUE(coding.change(1, changed).ok());
    std::vector<std::byte> values(on_gpu.columns[1].values.size());
    const Status expected = codecs::ColumnCoder().decode(std::as_bytes(std::span(changed)), values);
    const Result<double> decoded = coding.decode();
    ASSERT_EQ(decoded.ok(), expected.ok()) << "round " << round;
    if (!decoded.ok()) {
      EXPECT_EQ(decoded.error().code, ErrorCode::kMalformedMessage);
      EXPECT_THAT(decoded.error().message, HasSubstr("column 1 of 3"));
    } else {
      EXPECT_EQ(coding.decoded(1).value(), values);
    }
    for (const size_t beside : {0U, 2U})
      ASSERT_TRUE(
          std::ranges::equal(coding.decoded(beside).value(), on_gpu.columns[beside].values));
  }
}

}  // namespace
}  // namespace crossdock
