// What is said about a node in one glance: status, claim and reality.
#pragma once
#include <string>
#include <vector>

#include "replay/trace/pages.h"

namespace assay {

struct CardRow {
  std::string name, claimed, real;
  bool differs = false;
};
struct Card {
  std::string title, target;
  NodeMark mark = NodeMark::not_run;
  std::string status;         ///< "lies: storage-too-small"
  std::vector<CardRow> rows;  ///< parts of the layout; those that nothing is known of are left out
  std::string place;          ///< "model.py:43 in net.tail"
};
[[nodiscard]] auto card_of(const NodeLine& line) -> Card;

/// A mark as a character, the same shape as the picture of it.
[[nodiscard]] auto mark_text(NodeMark mark) -> std::string_view;

}  // namespace assay
