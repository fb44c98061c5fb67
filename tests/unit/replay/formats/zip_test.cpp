#include "replay/formats/zip.h"

#include <gtest/gtest.h>

#include "tests/support/raw_zip.h"

namespace assay {
namespace {

using testing_support::deflated;
using testing_support::raw_zip;
using testing_support::stored;

auto error_of(const std::string& bytes, const ZipLimits& limits = {}) -> std::string {
  const auto zip = ZipReader::open(bytes, limits);
  return zip ? "no error" : zip.error().message;
}

TEST(Zip, WhatIsWrittenIsReadInTheSameOrder) {
  const auto bytes =
      write_zip({{"b.txt", "hello"}, {"a/deep/file", std::string(5000, 'x')}, {"empty", ""}});
  ASSERT_TRUE(bytes) << bytes.error().message;
  const auto zip = ZipReader::open(*bytes);
  ASSERT_TRUE(zip) << zip.error().message;
  ASSERT_EQ(zip->entries().size(), 3U);
  EXPECT_EQ(zip->entries()[0].name, "b.txt");
  EXPECT_EQ(zip->entries()[1].size_bytes, 5000);
  EXPECT_EQ(zip->read("b.txt"), "hello");
  EXPECT_EQ(zip->read("empty"), "");
  EXPECT_EQ((*zip->read_bytes("a/deep/file"))->size(), 5000U);
  EXPECT_EQ(zip->find("deep"), nullptr);
}

TEST(Zip, WritingTwiceGivesTheSameBytesInAnyTimeZone) {
  const std::vector<ZipFile> files = {{"one", "1"}, {"two", "22"}};
  const auto first = write_zip(files);
  ::setenv("TZ", "Asia/Tokyo", 1);
  ::tzset();
  const auto second = write_zip(files);
  ::unsetenv("TZ");
  ::tzset();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(first->find("22") != std::string::npos, true) << "content is stored as it is";
}

TEST(Zip, DeflatedEntriesAreUnpacked) {
  const auto bytes = raw_zip({deflated("a", "content")});
  const auto zip = ZipReader::open(bytes);
  ASSERT_TRUE(zip) << zip.error().message;
  EXPECT_EQ(zip->read("a"), "content");
}

TEST(Zip, NamesThatLeaveTheFolderAreRefused) {
  for (const std::string name : {"../up", "a/../../up", "/etc/passwd", "a\\b", "C:evil", "a//b",
                                 "./a", "a/./b", "a\nb", "a/..", ""}) {
    EXPECT_FALSE(is_safe_entry_name(name)) << name;
    EXPECT_TRUE(error_of(raw_zip({stored(name, "x")})).contains("unsafe name")) << name;
    EXPECT_FALSE(write_zip({{name, "x"}})) << name;
  }
  for (const std::string name : {"a", "a/b.c", "..a/b..", ".data/version", "\xc3\xa9"})
    EXPECT_TRUE(is_safe_entry_name(name)) << name;
}

TEST(Zip, FoldersAreLeftOutAndRepeatedNamesRefused) {
  const auto with_folder = raw_zip({stored("a/", ""), stored("a/b", "x")});
  const auto zip = ZipReader::open(with_folder);
  ASSERT_TRUE(zip) << zip.error().message;
  EXPECT_EQ(zip->entries().size(), 1U);
  EXPECT_TRUE(error_of(raw_zip({stored("a", "1"), stored("a", "2")})).contains("appears twice"));
  EXPECT_FALSE(write_zip({{"a", "1"}, {"a", "2"}}));
}

TEST(Zip, EntriesThatUnpackToFarMoreThanTheyTakeAreRefused) {
  auto bomb = deflated("bomb", "x");
  bomb.size_bytes = 500'000'000;
  EXPECT_TRUE(error_of(raw_zip({bomb})).contains("zip bomb"));
  bomb.size_bytes = 1000;  // small enough to be harmless, whatever the ratio
  EXPECT_EQ(error_of(raw_zip({bomb})), "no error");
}

TEST(Zip, LimitsOnSizeAndCountAreKept) {
  const auto bytes =
      raw_zip({stored("a", std::string(100, 'x')), stored("b", std::string(100, 'x'))});
  EXPECT_EQ(error_of(bytes, {.max_entries = 2, .max_entry_bytes = 100, .max_total_bytes = 200}),
            "no error");
  EXPECT_TRUE(error_of(bytes, {.max_entries = 1}).contains("2 entries"));
  EXPECT_TRUE(error_of(bytes, {.max_entry_bytes = 99}).contains("limit of 99"));
  EXPECT_TRUE(error_of(bytes, {.max_total_bytes = 199}).contains("more than 199 bytes"));
}

TEST(Zip, EntriesThatClaimMoreThanTheArchiveHoldsAreRefused) {
  std::vector<testing_support::RawEntry> entries;
  for (int i = 0; i < 4; ++i) {
    entries.push_back(stored(std::to_string(i), "x"));
    entries.back().size_bytes = entries.back().packed_bytes = 300;
  }
  EXPECT_TRUE(error_of(raw_zip(entries)).contains("overlap"));
}

TEST(Zip, DamageIsNoticedWhenAnEntryIsRead) {
  auto wrong_crc = stored("a", "content");
  wrong_crc.crc ^= 1;
  auto too_long = deflated("a", "content");
  too_long.size_bytes -= 1;
  auto too_short = deflated("a", "content");
  too_short.size_bytes += 1;
  for (const auto& entry : {wrong_crc, too_long, too_short}) {
    const auto bytes = raw_zip({entry});
    const auto zip = ZipReader::open(bytes);
    ASSERT_TRUE(zip) << zip.error().message;
    EXPECT_FALSE(zip->read("a"));
    EXPECT_FALSE(zip->read_bytes("a"));
  }
}

TEST(Zip, EncryptionAndOtherMethodsAreUnsupportedNotMalformed) {
  auto encrypted = stored("a", "content");
  encrypted.flags = 1;
  auto bzip = stored("a", "content");
  bzip.method = 12;
  for (const auto& entry : {encrypted, bzip}) {
    const auto bytes = raw_zip({entry});
    const auto zip = ZipReader::open(bytes);
    ASSERT_FALSE(zip);
    EXPECT_EQ(zip.error().code, ErrorCode::unsupported) << zip.error().message;
  }
}

TEST(Zip, TruncatedArchivesAreErrorsAtEveryLength) {
  const auto bytes = raw_zip({stored("a", "content"), deflated("b", "more content")});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto part = bytes.substr(0, size);
    EXPECT_FALSE(ZipReader::open(part)) << size;
  }
}

}  // namespace
}  // namespace assay
