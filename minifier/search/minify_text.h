// The smallest part of a text that still fails the same way: compiled programs.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "minifier/search/minimal.h"

namespace assay {

/// A text of which parts may be left out.
struct TextParts {
  int count = 0;
  /// Keeps these (ascending); nothing where that makes no text.
  std::function<std::optional<std::string>(const Kept&)> text;
};

/// Failures of a text, by signature.
using TextFailures = std::function<std::vector<std::string>(const std::string&)>;

/// Asks whether a failure is there; no text twice.
class TextOracle {
 public:
  TextOracle(std::string wanted, TextFailures failures)
      : wanted_(std::move(wanted)), failures_(std::move(failures)) {}
  [[nodiscard]] auto fails(const std::string& text) -> bool;
  [[nodiscard]] auto asked() const -> int { return asked_; }
  [[nodiscard]] auto wanted() const -> const std::string& { return wanted_; }

 private:
  std::string wanted_;
  TextFailures failures_;
  std::map<std::string, bool> known_;
  int asked_ = 0;
};

/// What has to stay: none of it can be left out by itself. All of it is known to fail.
[[nodiscard]] auto minimal_parts(const TextParts& parts, TextOracle& oracle) -> Kept;

}  // namespace assay
