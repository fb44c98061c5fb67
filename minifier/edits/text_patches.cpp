#include "minifier/edits/text_patches.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/graph/python_syntax.h"
#include "minifier/edits/text_patch_rows.h"
#include "replay/runner/wrapper_lines.h"

namespace assay {
namespace {

/// A Triton kernel of a wrapper: places in the wrapper's text.
struct Kernel {
  std::string_view name;
  std::size_t decorators = 0;  ///< where they begin
  std::size_t head = 0;        ///< of `def`
  std::size_t body = 0, end = 0;
  int body_line = 1;
};

struct Line {
  std::size_t begin = 0, end = 0;  ///< without the line end
  int number = 1;
};

auto lines_in(std::string_view text) -> std::vector<Line> {
  std::vector<Line> lines;
  int number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const auto end = std::min(text.find('\n', begin), text.size());
    lines.push_back({begin, end, number});
    begin = end + 1;
  }
  return lines;
}

auto kernels_in(std::string_view text) -> std::vector<Kernel> {
  std::vector<Kernel> kernels;
  std::optional<Kernel> open;
  std::size_t decorators = 0;
  bool is_jit = false;
  for (const auto& line : lines_in(text)) {
    const auto words = text.substr(line.begin, line.end - line.begin);
    constexpr std::string_view kDef = "def ";
    if (words.starts_with("@triton_heuristics")) decorators = line.begin;
    if (words.starts_with("@triton.jit")) {
      is_jit = true;
    } else if (is_jit && words.starts_with(kDef)) {
      const auto name = words.substr(kDef.size(), words.find('(') - kDef.size());
      open = Kernel{name,       std::max(decorators, kernels.empty() ? 0 : kernels.back().end),
                    line.begin, line.end + 1,
                    line.end,   line.number + 1};
      is_jit = false;
    } else if (open && words.starts_with("'''")) {
      open->end = line.begin;
      kernels.push_back(*open);
      open.reset();
    }
  }
  return kernels;
}

/// Reads the statements of a kernel's body and what may be done to their expressions.
class KernelPatches {
 public:
  KernelPatches(std::string_view text, const Kernel& kernel)
      : text_(text), kernel_(kernel), cursor_(text.substr(0, kernel.end)) {
    const auto body = text.substr(kernel.body, kernel.end - kernel.body);
    rank_ = body.contains("None, None")                                ? 3
            : body.contains("[None, :]") || body.contains("[:, None]") ? 2
                                                                       : 1;
  }

  auto patches(TextPatchKind kind) -> std::vector<TextPatch> {
    kind_ = kind;
    if (kind == TextPatchKind::operand) find_blocks();
    if (kind == TextPatchKind::block) {
      blocks();
    } else if (kind == TextPatchKind::parameter) {
      parameters();
    } else {
      for (const auto& line : lines_in(text_.substr(0, kernel_.end)))
        if (line.begin >= kernel_.body) statement(line);
    }
    return std::move(patches_);
  }

 private:
  void replace(int node, std::string text) {
    const auto& syntax = cursor_.syntax(node);
    patches_.push_back({{syntax.place.offset, syntax.end, std::move(text)}});
  }
  [[nodiscard]] auto source(int node) const -> std::string {
    return std::string(cursor_.source_of(node));
  }

  /// Names of values with lanes: those made from `tl.arange`, directly or by others.
  void find_blocks() {
    for (const auto& line : lines_in(text_.substr(0, kernel_.end))) {
      const auto words = text_.substr(line.begin, line.end - line.begin);
      const auto equals = words.find(" = ");
      if (line.begin < kernel_.body || equals == std::string_view::npos) continue;
      if (!words.contains("tl.arange") && !has_block(words.substr(equals))) continue;
      blocks_.emplace(
          words.substr(words.find_first_not_of(' '), equals - words.find_first_not_of(' ')));
    }
  }
  [[nodiscard]] auto has_block(std::string_view text) const -> bool {
    std::set<std::string, std::less<>> names;
    add_identifiers(text, names);
    return std::ranges::any_of(names, [&](const auto& name) { return blocks_.contains(name); });
  }

  /// Assignments and calls; heads of blocks and what cannot be read have no expressions.
  void statement(const Line& line) {
    const auto words = text_.substr(line.begin, line.end - line.begin);
    if (words.ends_with(':') || words.find_first_not_of(' ') == std::string_view::npos) return;
    // How a tile lies in the grid is the launch's, not what the kernel computes.
    if (words.contains("tl.program_id") || words.contains("tl.arange") || words.contains("BLOCK"))
      return;
    cursor_.clear();
    cursor_.seek(line.begin, line.number);
    auto value = cursor_.expression_list();
    if (value && cursor_.accept("=")) value = cursor_.expression_list();
    if (value) visit(*value);
  }

  void visit(int node) {
    const auto kind = cursor_.syntax(node).kind;
    if (kind == SyntaxKind::call)
      call(node);
    else if (kind_ == TextPatchKind::operand)
      operation(node);
    const auto callee = kind == SyntaxKind::call ? source(cursor_.syntax(node).first_child) : "";
    const bool is_access = callee == "tl.load" || callee == "tl.store";
    const auto args = is_access ? cursor_.positional(node) : std::vector<int>();
    for (const int child : cursor_.children(node)) {
      const auto outer = address_;
      if (!args.empty() && child == args.front()) address_ = child;
      visit(child);
      address_ = outer;
    }
  }

  /// An operand in the place of an operation. An address keeps its lanes, for the mask's sake.
  void replace_by(int node, int operand) {
    if (address_ && has_block(cursor_.source_of(*address_))) {
      const auto &all = cursor_.syntax(*address_), &part = cursor_.syntax(node);
      const auto rest =
          std::string(text_.substr(all.place.offset, part.place.offset - all.place.offset)) +
          source(operand) + std::string(text_.substr(part.end, all.end - part.end));
      if (!has_block(rest)) return;
    }
    replace(node, source(operand));
  }

  void operation(int node) {
    const auto& syntax = cursor_.syntax(node);
    const auto children = cursor_.children(node);
    static constexpr std::array<std::string_view, 7> kArithmetic = {"+",  "-", "*", "/",
                                                                    "//", "%", "&"};
    if (syntax.kind == SyntaxKind::binary &&
        std::ranges::find(kArithmetic, syntax.text) != kArithmetic.end()) {
      const bool is_address = is_pointer(children[0]);
      replace_by(node, children[0]);
      if (!is_address) replace_by(node, children[1]);
    }
    if (syntax.kind == SyntaxKind::unary) replace_by(node, children[0]);
    // `tl.sum(tmp0, 1)[:, None]`
    if (syntax.kind == SyntaxKind::subscript &&
        cursor_.syntax(children[0]).kind == SyntaxKind::call)
      if (const auto args = cursor_.positional(children[0]); args.size() == 2)
        replace(node, source(args[0]));
  }

  void call(int node) {
    const auto callee = source(cursor_.syntax(node).first_child);
    const auto args = cursor_.positional(node);
    const bool is_load = callee == "tl.load", is_store = callee == "tl.store";
    if (kind_ == TextPatchKind::load && is_load && !args.empty()) replace(node, constant(args[0]));
    if (kind_ == TextPatchKind::load && is_store && args.size() > 1 &&
        cursor_.syntax(args[1]).kind != SyntaxKind::real)
      replace(args[1], "0.0");
    if (kind_ == TextPatchKind::mask && (is_load || is_store)) mask(node, args, is_load ? 1 : 2);
    if (kind_ != TextPatchKind::operand || is_load || is_store) return;
    static constexpr std::array<std::string_view, 6> kNoOperands = {
        "tl.full", "tl.zeros", "tl.arange", "tl.program_id", "tl.debug_barrier", "range"};
    if (std::ranges::find(kNoOperands, callee) != kNoOperands.end()) return;
    if (callee.ends_with(".to")) replace(node, callee.substr(0, callee.size() - 3));
    const bool is_where = callee == "tl.where" && args.size() == 3;
    for (std::size_t i = is_where ? 1 : 0; i < args.size() && !callee.ends_with(".to"); ++i) {
      const auto kind = cursor_.syntax(args[i]).kind;
      if (kind != SyntaxKind::integer && kind != SyntaxKind::list) replace(node, source(args[i]));
    }
  }

  void mask(int node, const std::vector<int>& args, std::size_t position) {
    int given = cursor_.keyword(node, "mask");
    if (given < 0 && args.size() > position) given = args[position];
    if (given < 0 || source(given) == "None") return;
    replace(given, "None");
    // What lanes without mask get is nothing without a mask.
    if (const int other = cursor_.keyword(node, "other"); other >= 0) {
      const auto end = cursor_.syntax(other).end;
      const auto begin = text_.rfind(", other", end);
      if (begin != std::string_view::npos && begin >= cursor_.syntax(given).end)
        patches_.back().push_back({begin, end, ""});
    }
    if (cursor_.syntax(given).kind == SyntaxKind::binary)
      for (const int side : cursor_.children(given)) replace(given, source(side));
  }

  /// Does the expression hold an address: a name such as in_ptr0?
  [[nodiscard]] auto is_pointer(int node) const -> bool {
    return cursor_.source_of(node).contains("_ptr");
  }

  /// Of the kind that the pointer in `address` points to, by the signature above the kernel.
  [[nodiscard]] auto constant(int address) const -> std::string {
    auto pointer = address;
    while (cursor_.syntax(pointer).kind == SyntaxKind::binary)
      pointer = cursor_.syntax(pointer).first_child;
    const auto key = fmt::format("'{}': '*", cursor_.source_of(pointer));
    const auto head = text_.substr(kernel_.decorators, kernel_.head - kernel_.decorators);
    const auto at = head.find(key);
    const auto type =
        at == std::string_view::npos ? std::string_view("fp32") : head.substr(at + key.size());
    const auto [value, dtype] = type.starts_with("i1'")   ? std::pair("False", "tl.int1")
                                : type.starts_with("i64") ? std::pair("0", "tl.int64")
                                : type.starts_with('i') || type.starts_with('u')
                                    ? std::pair("0", "tl.int32")
                                    : std::pair("0.0", "tl.float32");
    const std::string ones = rank_ == 1 ? "1" : rank_ == 2 ? "1, 1" : "1, 1, 1";
    return fmt::format("tl.full([{}], {}, {})", ones, value, dtype);
  }

  void blocks() {
    const auto lines = lines_in(text_.substr(0, kernel_.end));
    const auto indent = [&](const Line& line) {
      const auto words = text_.substr(line.begin, line.end - line.begin);
      return std::min(words.find_first_not_of(' '), words.size());
    };
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto words = text_.substr(lines[i].begin, lines[i].end - lines[i].begin);
      if (lines[i].begin < kernel_.body || !words.ends_with(':') || words.contains('#')) continue;
      auto last = i;
      while (last + 1 < lines.size() && indent(lines[last + 1]) > indent(lines[i])) ++last;
      patches_.push_back({{lines[i].begin, lines[last].end + 1, ""}});
    }
  }

  void parameters() {
    const auto open = text_.find('(', kernel_.head), close = text_.find("):", open);
    if (open == std::string_view::npos || close >= kernel_.body) return;
    const auto names = items(open, close);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto& [begin, end] = names[i];
      const auto name = text_.substr(begin, end - begin);
      // The grid is made from the numbers of elements.
      if (name.contains(':') || name.ends_with("numel") || is_used(name)) continue;
      TextPatch patch;
      const auto signature = text_.find(fmt::format("'{}': '", name), kernel_.decorators);
      if (signature < kernel_.head)
        patch.push_back(
            {signature, after_item(text_.find('\'', signature + name.size() + 5) + 1), ""});
      patch.push_back({begin, after_item(end), ""});
      if (drop_arguments(i, patch)) patches_.push_back(std::move(patch));
    }
  }

  [[nodiscard]] auto after_item(std::size_t end) const -> std::size_t {
    return text_.substr(end).starts_with(", ") ? end + 2 : end;
  }
  /// What stands between commas of the list whose brackets are at `open` and `close`.
  [[nodiscard]] auto items(std::size_t open, std::size_t close) const
      -> std::vector<std::pair<std::size_t, std::size_t>> {
    std::vector<std::pair<std::size_t, std::size_t>> found;
    int depth = 0;
    auto begin = open + 1;
    for (auto at = begin; at <= close; ++at) {
      depth += text_[at] == '(' || text_[at] == '[' ? 1 : 0;
      if (depth == 0 && (text_[at] == ',' || at == close)) {
        while (begin < at && text_[begin] == ' ') ++begin;
        if (begin < at) found.emplace_back(begin, at);
        begin = at + 1;
      }
      depth -= at != close && (text_[at] == ')' || text_[at] == ']') ? 1 : 0;
    }
    return found;
  }
  [[nodiscard]] auto is_used(std::string_view name) const -> bool {
    std::set<std::string, std::less<>> names;
    add_identifiers(text_.substr(kernel_.body, kernel_.end - kernel_.body), names);
    return names.contains(name);
  }
  /// The argument at `position` of every launch; false where one is not there.
  [[nodiscard]] auto drop_arguments(std::size_t position, TextPatch& patch) const -> bool {
    const auto run = fmt::format("{}.run(", kernel_.name);
    for (auto at = text_.find(run, kernel_.end); at != std::string_view::npos;
         at = text_.find(run, at + 1)) {
      const auto args = items(at + run.size() - 1, text_.find('\n', at) - 1);
      if (position >= args.size()) return false;
      patch.push_back({args[position].first, after_item(args[position].second), ""});
    }
    return true;
  }

  std::string_view text_;
  const Kernel& kernel_;
  PythonCursor cursor_;
  TextPatchKind kind_ = TextPatchKind::block;
  std::set<std::string, std::less<>> blocks_;
  std::optional<int> address_;  ///< of the access at hand
  std::vector<TextPatch> patches_;
  int rank_ = 1;
};

/// A kind, and what makes its patches in each language.
struct KindRow {
  TextPatchKind kind;
  std::string_view name;
  std::vector<TextPatch> (*make)(std::string_view text);
  std::vector<TextPatch> (*more)(std::string_view text) = nullptr;
};
template <TextPatchKind kKind>
auto triton(std::string_view text) -> std::vector<TextPatch> {
  return triton_patches(text, kKind);
}
using enum TextPatchKind;
constexpr std::array<KindRow, 10> kRows = {{
    {block, "block", triton<block>},
    {load, "load", triton<load>, cpp_loads},
    {operand, "operand", triton<operand>, cpp_operands},
    {mask, "mask", triton<mask>},
    {parameter, "parameter", triton<parameter>},
    {symbol, "symbol", symbols_by_numbers},
    {axis, "axis", merged_axes},
    {stride, "stride", plain_strides},
    {dtype, "dtype", plain_dtypes},
    {launch, "launch", smaller_launches},
}};
auto row_of(TextPatchKind kind) -> const KindRow& {
  return *std::ranges::find(kRows, kind, &KindRow::kind);
}

}  // namespace

auto name(TextPatchKind kind) -> std::string_view {
  return row_of(kind).name;
}

auto patched(std::string_view text, const TextPatch& patch) -> std::string {
  std::string out;
  std::size_t from = 0;
  for (const auto& edit : patch) {
    out += text.substr(from, edit.begin - from);
    out += edit.text;
    from = edit.end;
  }
  return out += text.substr(from);
}

auto triton_patches(std::string_view text, TextPatchKind kind) -> std::vector<TextPatch> {
  std::vector<TextPatch> all;
  for (const auto& kernel : kernels_in(text))
    for (auto& patch : KernelPatches(text, kernel).patches(kind)) all.push_back(std::move(patch));
  return all;
}

auto text_patches(std::string_view text, TextPatchKind kind) -> std::vector<TextPatch> {
  const auto& row = row_of(kind);
  auto all = row.make(text);
  if (row.more != nullptr)
    for (auto& patch : row.more(text)) all.push_back(std::move(patch));
  std::ranges::stable_sort(all, {}, [](const TextPatch& patch) { return patch.front().begin; });
  return all;
}

}  // namespace assay
