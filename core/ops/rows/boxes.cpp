// Overlap of turned boxes (torchvision/csrc/ops/box_iou_rotated_utils.h).
#include <array>
#include <cmath>
#include <numbers>

#include "core/ops/rules.h"

namespace assay {
namespace {

struct Point {
  double x = 0, y = 0;
};
/// Corners, one after the other, of a centre, a width, a height and an angle in degrees, which
/// turns from y to x.
auto corners(const double* box) -> std::vector<Point> {
  const double angle = -box[4] * std::numbers::pi / 180;
  const double c = std::cos(angle) / 2, s = std::sin(angle) / 2;
  std::vector<Point> result;
  for (const auto& [along, across] :
       std::array<std::array<double, 2>, 4>{{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}})
    result.push_back({box[0] + along * c * box[2] - across * s * box[3],
                      box[1] + along * s * box[2] + across * c * box[3]});
  return result;
}
auto turn(const Point& a, const Point& b, const Point& p) -> double {
  return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}
/// What lies to the left of the line from a to b (Sutherland and Hodgman).
auto left_of(const std::vector<Point>& shape, const Point& a, const Point& b)
    -> std::vector<Point> {
  std::vector<Point> result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto& from = shape[i];
    const auto& to = shape[(i + 1) % shape.size()];
    const double side = turn(a, b, from), next = turn(a, b, to);
    if (side >= 0) result.push_back(from);
    if ((side > 0 && next < 0) || (side < 0 && next > 0)) {
      const double share = side / (side - next);
      result.push_back({from.x + share * (to.x - from.x), from.y + share * (to.y - from.y)});
    }
  }
  return result;
}
auto area(const std::vector<Point>& shape) -> double {
  double twice = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto& next = shape[(i + 1) % shape.size()];
    twice += shape[i].x * next.y - shape[i].y * next.x;
  }
  return twice / 2;
}
/// Common area over the area of both together.
auto overlap(std::array<double, 5> a, std::array<double, 5> b) -> double {
  constexpr double kNothing = 1e-14;
  const double first = a[2] * a[3], second = b[2] * b[3];
  if (first < kNothing || second < kNothing) return 0;
  const double x = (a[0] + b[0]) / 2, y = (a[1] + b[1]) / 2;  // near 0 less is rounded away
  for (auto* box : {&a, &b}) {
    (*box)[0] -= x;
    (*box)[1] -= y;
  }
  auto common = corners(a.data());
  const auto other = corners(b.data());
  for (std::size_t i = 0; i < other.size() && !common.empty(); ++i)
    common = left_of(common, other[i], other[(i + 1) % other.size()]);
  const double both = area(common);
  return both / (first + second - both);
}

/// boxes1 [N, 5], boxes2 [M, 5] (x, y of the centre, width, height, degrees): [N, M].
auto overlap_rule(MetaCall& c) -> Datum {
  const auto& a = c.meta(0);
  const auto& b = c.meta(1);
  for (const auto* boxes : {&a, &b})
    if (!c.require(boxes->rank() == 2 && is_floating(boxes->dtype), "boxes are rows of numbers") ||
        !c.require(eq(boxes->sizes[1], 5), "a turned box has five numbers"))
      return {};
  if (!c.require(a.dtype == b.dtype, "boxes of one dtype")) return {};
  return c.fresh(DType::float32, {a.sizes[0], b.sizes[0]});
}
void overlap_kernel(KernelCall& k) {
  const auto a = to_vector<double>(k.in(0)), b = to_vector<double>(k.in(1));
  std::vector<double> result;
  const auto box = [](const std::vector<double>& all, std::size_t at) {
    return std::array{all[at], all[at + 1], all[at + 2], all[at + 3], all[at + 4]};
  };
  for (std::size_t i = 0; i < a.size(); i += 5)
    for (std::size_t j = 0; j < b.size(); j += 5) result.push_back(overlap(box(a, i), box(b, j)));
  from_vector<double>(k.out(), result);
}

}  // namespace

void add_box_rows(OpTable& t) {
  t.add({.schema_text = "torchvision::box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor",
         .rule = overlap_rule,
         .kernel = overlap_kernel});
}

}  // namespace assay
