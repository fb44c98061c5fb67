// The reference corpus: real captures, kept outside of the repository.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::testing {

/// Folder of the corpus: the environment variable ASSAY_CORPUS, else ../shared/corpus beside the
/// source tree. Nothing if there is no such folder.
[[nodiscard]] auto corpus_folder() -> std::optional<std::filesystem::path>;
/// A `NAME.tar.xz` of the corpus, unpacked into the build tree once (and again when it changes).
/// Nothing if the archive is not there or cannot be unpacked.
[[nodiscard]] auto unpacked_corpus(std::string_view archive)
    -> std::optional<std::filesystem::path>;
/// The same for a single packed file `NAME.xz`.
[[nodiscard]] auto unpacked_file(std::string_view name) -> std::optional<std::filesystem::path>;
/// Why a test skips: names the folder that was looked for.
[[nodiscard]] auto corpus_missing() -> std::string;
/// Files below a folder whose name ends so, sorted.
[[nodiscard]] auto files_ending(const std::filesystem::path& folder, std::string_view suffix)
    -> std::vector<std::filesystem::path>;
/// Every recorded graph of the models, sorted; none without the corpus.
[[nodiscard]] auto graph_captures() -> std::vector<std::filesystem::path>;
/// The same, then every .pt2.
[[nodiscard]] auto all_captures() -> std::vector<std::filesystem::path>;
/// A backward graph: recorded without values.
[[nodiscard]] auto is_backward(const std::filesystem::path& capture) -> bool;
/// How many graphs a test of planted failures looks at: the environment variable ASSAY_PLANTED.
[[nodiscard]] auto wanted_graphs(int usual) -> int;
[[nodiscard]] auto read_text(const std::filesystem::path& path) -> std::string;

}  // namespace assay::testing
