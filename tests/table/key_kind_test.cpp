// Which key types compare, as what, and what the refusals say.
#include "table/key_kind.hpp"

#include <gtest/gtest.h>

namespace crossdock {
namespace {

DataType type(std::string_view format) { return parse_arrow_format(format).value(); }

DataType key_dictionary_of(std::string_view format) {
  DataType result = type("i");
  result.id = TypeId::kDictionary;
  result.dictionary = std::make_shared<const DataType>(type(format));
  return result;
}

KeyKind kind(std::string_view left, std::string_view right) {
  auto result = common_key_kind(type(left), type(right));
  EXPECT_TRUE(result.ok()) << result.error().message;
  auto mirrored = common_key_kind(type(right), type(left));
  EXPECT_EQ(result.value(), mirrored.value());
  return result.value();
}

TEST(KeyKind, Integers) {
  EXPECT_EQ(kind("c", "l").form, KeyForm::kInteger64);
  EXPECT_EQ(kind("I", "l").form, KeyForm::kInteger64);
  EXPECT_EQ(kind("L", "C").form, KeyForm::kInteger64);
  EXPECT_EQ(kind("L", "L").form, KeyForm::kInteger64);
  EXPECT_EQ(kind("L", "c").form, KeyForm::kInteger128);
}

TEST(KeyKind, Decimals) {
  EXPECT_EQ(kind("d:10,2", "d:20,5"), (KeyKind{KeyForm::kDecimal, 5}));
  EXPECT_EQ(kind("d:10,2", "i"), (KeyKind{KeyForm::kDecimal, 2}));
  EXPECT_EQ(kind("d:10,-2", "L"), (KeyKind{KeyForm::kDecimal, 0}));
}

TEST(KeyKind, Instants) {
  EXPECT_EQ(kind("tsu:", "tsu:").form, KeyForm::kInteger64);
  EXPECT_EQ(kind("tsu:UTC", "tsu:Europe/Rome").form, KeyForm::kInteger64);
  EXPECT_EQ(kind("tss:", "tsn:"), (KeyKind{KeyForm::kInstant, 0, 1'000'000'000}));
  EXPECT_EQ(kind("tdD", "tdD").form, KeyForm::kInteger64);
  EXPECT_EQ(kind("tdD", "tdm"), (KeyKind{KeyForm::kInstant, 0, 1000}));
  EXPECT_EQ(kind("tts", "ttu"), (KeyKind{KeyForm::kInstant, 0, 1'000'000}));
  EXPECT_EQ(kind("tDs", "tDm"), (KeyKind{KeyForm::kInstant, 0, 1000}));
}

TEST(KeyKind, OthersAndDictionaries) {
  EXPECT_EQ(kind("b", "b").form, KeyForm::kBool);
  EXPECT_EQ(kind("e", "g").form, KeyForm::kFloat);
  EXPECT_EQ(kind("u", "vu").form, KeyForm::kBytes);
  EXPECT_EQ(kind("Z", "vz").form, KeyForm::kBytes);
  EXPECT_EQ(common_key_kind(key_dictionary_of("u"), type("U")).value().form, KeyForm::kBytes);
  EXPECT_EQ(common_key_kind(key_dictionary_of("c"), key_dictionary_of("l")).value().form,
            KeyForm::kInteger64);
}

TEST(KeyKind, OnlySomeFitOneWord) {
  EXPECT_TRUE(is_exact64(kind("i", "l")));
  EXPECT_TRUE(is_exact64(kind("f", "g")));
  EXPECT_TRUE(is_exact64(kind("b", "b")));
  EXPECT_FALSE(is_exact64(kind("L", "l")));
  EXPECT_FALSE(is_exact64(kind("tss:", "tsn:")));
  EXPECT_FALSE(is_exact64(kind("d:10,2", "d:10,2")));
  EXPECT_FALSE(is_exact64(kind("u", "u")));
}

struct KindRefusal {
  std::string_view left;
  std::string_view right;
  std::string_view proposal;
};

TEST(KeyKind, RefusalsNameBothTypesAndACast) {
  const KindRefusal refusals[] = {
      {"l", "g", "cast the floating-point side"},
      {"d:10,2", "f", "cast the floating-point side"},
      {"u", "z", "binary"},
      {"tsu:", "tsu:UTC", "zone"},
      {"tdD", "tsu:", "date"},
      {"u", "i", "cast the text side"},
      {"b", "i", "cast"},
      {"ttu", "tsu:", "cast"},
      {"tDs", "l", "cast"},
  };
  for (const auto& [left, right, proposal] : refusals) {
    for (const bool swapped : {false, true}) {
      const DataType a = type(swapped ? right : left);
      const DataType b = type(swapped ? left : right);
      const auto refused = common_key_kind(a, b);
      ASSERT_FALSE(refused.ok()) << left << " " << right;
      EXPECT_EQ(refused.error().code, ErrorCode::kKeyTypeMismatch);
      const std::string& message = refused.error().message;
      for (const std::string& part : {type_name(a), type_name(b), std::string(proposal)}) {
        EXPECT_NE(message.find(part), std::string::npos) << message;
      }
    }
  }
}

}  // namespace
}  // namespace crossdock
