// Digests of the standards' examples, and around the sizes of a chunk; measures of strings from their papers.
#include "expressions/digests.hpp"

#include <string>

#include <gtest/gtest.h>

#include "expressions/string_similarity.hpp"

namespace crossdock::expressions {
namespace {

template <class Write>
std::string digits(const Write& write, std::string_view string) {
  std::string to(kSha256Digits, ' ');
  to.resize(write(string, to.data()));
  return to;
}

TEST(Digests, AreThoseOfTheStandards) {
  EXPECT_EQ(digits(write_md5, ""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(digits(write_md5, "message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(digits(write_sha1, "abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(digits(write_sha256, "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string two_chunks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  EXPECT_EQ(digits(write_sha1, two_chunks), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(digits(write_sha256, two_chunks),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  const std::string million(1'000'000, 'a');
  EXPECT_EQ(digits(write_md5, million), "7707d6ae4e027c70eea2a935c2296f21");
  EXPECT_EQ(digits(write_sha1, million), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
  EXPECT_EQ(digits(write_sha256, million),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(StringSimilarity, CountsCharactersAndNotBytes) {
  StringSimilarity by;
  EXPECT_EQ(by.levenshtein("kitten", "sitting"), 3);
  EXPECT_EQ(by.levenshtein("", "\u00e9t\u00e9"), 3);
  EXPECT_EQ(by.hamming("\u00e9", "e"), 1);
  EXPECT_EQ(by.hamming("ab", "a"), std::nullopt);
  EXPECT_EQ(by.jaccard("aab", "bc"), 1.0 / 3);
  EXPECT_EQ(by.jaccard("a\u00e9", "\u00e9\u00e9b"), 1.0 / 3);
  EXPECT_EQ(by.jaccard("a", ""), std::nullopt);
}

// Winkler (1990), table of names.
TEST(StringSimilarity, OfJaroAndWinkler) {
  StringSimilarity by;
  EXPECT_NEAR(by.jaro("MARTHA", "MARHTA"), 0.9444, 1e-4);
  EXPECT_NEAR(by.jaro("DIXON", "DICKSONX"), 0.7667, 1e-4);
  EXPECT_NEAR(by.jaro_winkler("DWAYNE", "DUANE"), 0.84, 1e-4);
  EXPECT_EQ(by.jaro("", ""), 0);
  EXPECT_EQ(by.jaro_winkler("abc", "xyz"), 0);
}

}  // namespace
}  // namespace crossdock::expressions
