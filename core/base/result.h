// Expected failures as values: bad files, unsupported inputs, missing devices.
#pragma once
#include <expected>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace assay {

/// What kind of expected failure this is; decides the exit code of the command line.
enum class ErrorCode {
  usage,         ///< the command line is wrong (exit 2)
  bad_input,     ///< the input is malformed, truncated or hostile (exit 3)
  unsupported,   ///< the input is well formed but asks for something we do not do (exit 3)
  missing_tool,  ///< a needed device or program is not there (exit 4)
  undecided,     ///< out of budget (exit 5)
};

/// Message: lower case, names the thing and the place, e.g. `line 3: unknown op "padd"`.
struct Error {
  ErrorCode code = ErrorCode::bad_input;
  std::string message;
};

template <class T>
using Result = std::expected<T, Error>;

/// Builds the error branch of a Result: `return bad_input("line {}: ...", line);`
template <class... Args>
[[nodiscard]] auto bad_input(fmt::format_string<Args...> text, Args&&... args)
    -> std::unexpected<Error> {
  return std::unexpected(
      Error{ErrorCode::bad_input, fmt::format(text, std::forward<Args>(args)...)});
}
template <class... Args>
[[nodiscard]] auto unsupported(fmt::format_string<Args...> text, Args&&... args)
    -> std::unexpected<Error> {
  return std::unexpected(
      Error{ErrorCode::unsupported, fmt::format(text, std::forward<Args>(args)...)});
}
/// Prefixes an error with what was being done; use at most once per layer.
[[nodiscard]] inline auto with_context(const Error& error, const std::string& doing)
    -> std::unexpected<Error> {
  return std::unexpected(Error{error.code, doing + ": " + error.message});
}

}  // namespace assay

#define ASSAY_CONCAT_IMPL(a, b) a##b
#define ASSAY_CONCAT(a, b) ASSAY_CONCAT_IMPL(a, b)
/// Declares `lhs` from a Result or returns its error: `ASSAY_TRY(auto graph, parse(text));`
#define ASSAY_TRY(lhs, ...) ASSAY_TRY_IMPL(ASSAY_CONCAT(assay_try_, __LINE__), lhs, __VA_ARGS__)
#define ASSAY_TRY_IMPL(tmp, lhs, ...)                       \
  auto tmp = (__VA_ARGS__);                                 \
  if (!tmp) return std::unexpected(std::move(tmp).error()); \
  lhs = *std::move(tmp)
/// Same for a Result<void>: `ASSAY_TRY_VOID(check(graph));`
#define ASSAY_TRY_VOID(...)                                      \
  do {                                                           \
    if (auto assay_try_void = (__VA_ARGS__); !assay_try_void)    \
      return std::unexpected(std::move(assay_try_void).error()); \
  } while (false)
