#include "replay/cache/code_store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <fstream>

namespace assay {
namespace {

namespace fs = std::filesystem;

class CodeStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("assay_code_store_{}", ::getpid());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] auto file() const -> fs::path { return folder_ / "deep" / "code.sqlite"; }
  fs::path folder_;
};

TEST_F(CodeStoreTest, KeepsCodeForLaterProcesses) {
  const std::string code("\0machine\0code\n", 14);
  {
    const auto store = open_code_store(file());
    ASSERT_TRUE(store);
    EXPECT_FALSE(store->find("kernel a"));
    store->keep("kernel a", code);
    EXPECT_EQ(store->find("kernel a"), code);
  }
  const auto store = open_code_store(file());
  ASSERT_TRUE(store);
  EXPECT_EQ(store->find("kernel a"), code);
  EXPECT_FALSE(store->find("kernel b"));
  store->keep("kernel a", "newer");
  EXPECT_EQ(store->find("kernel a"), "newer");
}

TEST_F(CodeStoreTest, ChangedBytesAreNoCode) {
  open_code_store(file())->keep("kernel a", "machine code");
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, "UPDATE code SET code = CAST('machine cade' AS BLOB)", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  EXPECT_FALSE(open_code_store(file())->find("kernel a"));
}

TEST_F(CodeStoreTest, TwoMayShareAFile) {
  const auto one = open_code_store(file());
  const auto other = open_code_store(file());
  ASSERT_TRUE(one && other);
  one->keep("a", "1");
  other->keep("b", "2");
  EXPECT_EQ(other->find("a"), "1");
  EXPECT_EQ(one->find("b"), "2");
}

TEST_F(CodeStoreTest, ForgetsWhatIsOldestAboveItsSize) {
  const auto store = open_code_store(file(), 1000);
  ASSERT_TRUE(store);
  for (int i = 0; i < 40; ++i) store->keep(fmt::format("kernel {}", i), std::string(100, 'x'));
  EXPECT_FALSE(store->find("kernel 0"));
  EXPECT_TRUE(store->find("kernel 39"));
}

TEST_F(CodeStoreTest, LeavesForeignFilesAlone) {
  fs::create_directories(file().parent_path());
  std::ofstream(file()) << "not a database, but somebody's notes, long enough to be looked at";
  EXPECT_FALSE(open_code_store(file()));
  std::string text;
  std::getline(std::ifstream(file()) >> std::ws, text);
  EXPECT_TRUE(text.starts_with("not a database"));
}

TEST_F(CodeStoreTest, TheEnvironmentSaysWhere) {
  ::setenv("ASSAY_CODE_CACHE", "/x/y.sqlite", 1);
  EXPECT_EQ(code_store_path(), "/x/y.sqlite");
  ::setenv("ASSAY_CODE_CACHE", "", 1);
  EXPECT_TRUE(code_store_path().empty());
  ::unsetenv("ASSAY_CODE_CACHE");
  ::setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(code_store_path(), "/caches/assay/code.sqlite");
}

}  // namespace
}  // namespace assay
