// Every command of the window, once: menus, the palette, the sheet of keys, scripts and the test
// for clashes read this table.
#pragma once
#include <span>
#include <string_view>

namespace assay {

struct ActionRow {
  std::string_view id;
  std::string_view text;
  std::string_view keys;  ///< as QKeySequence reads them, alternatives separated by blanks
  std::string_view menu;  ///< empty: only in the palette
  std::string_view view;  ///< keys hold where this view has the focus; empty: everywhere
};
[[nodiscard]] auto action_rows() -> std::span<const ActionRow>;

/// A named arrangement of views: columns by `|`, rows in a column by `/`, tabs in a row by `,`.
struct LayoutRow {
  std::string_view id;
  std::string_view text;
  std::string_view views;
};
[[nodiscard]] auto layout_rows() -> std::span<const LayoutRow>;

}  // namespace assay
