// The smallest part of a sequence that a test still accepts.
#pragma once
#include <algorithm>
#include <functional>
#include <vector>

namespace assay {

/// `test(kept, ahead)`: does the candidate that keeps exactly these elements (ascending) still
/// pass? `ahead` holds candidates that are likely to be asked for next; a tester with idle workers
/// may try them early, the answers here never depend on it.
using Kept = std::vector<int>;
using SubsetTest = std::function<bool(const Kept& kept, const std::vector<Kept>& ahead)>;

/// A set of elements of [0, count) that passes and from which, if the test is monotone, none can be
/// left out. `count` elements together are known to pass. Each needed element is found from the end
/// by galloping and bisection: about 2 log2(distance to the next) tests each, so clusters cost
/// little and a single element costs 2 log2(count). Tests that are not monotone (candidates that do
/// not build, flaky failures) only leave more elements behind; `sweep` then tries each by itself.
class Minimal {
 public:
  Minimal(int count, SubsetTest test) : count_(count), test_(std::move(test)) {}

  auto run() -> Kept {
    if (count_ == 0 || passes({}, {})) return {};
    open();
    // Needed elements come in clusters: whether the rest can go is asked at the end of one.
    for (bool in_cluster = false; limit_ > low_;) {
      if (!in_cluster && passes(with_middle(low_), {})) break;
      const int before = limit_;
      find_last();
      in_cluster = limit_ == before - 1;
    }
    return sweep(with_middle(low_));
  }

  /// Leaves out elements one by one until none can go: what remains is 1-minimal.
  auto sweep(Kept kept) -> Kept {
    for (bool shrunk = true; shrunk;) {
      shrunk = false;
      for (auto i = kept.size(); i-- > 0 && kept.size() > 1;) {
        std::vector<Kept> ahead;
        if (i > 0) ahead.push_back(without(kept, i - 1));
        if (!passes(without(kept, i), ahead)) continue;
        kept = without(kept, i);
        shrunk = true;
      }
    }
    return kept;
  }

 private:
  static auto without(Kept kept, std::size_t i) -> Kept {
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
    return kept;
  }
  /// What is known to be needed, and the undecided elements up to `end`.
  [[nodiscard]] auto with_middle(int end) const -> Kept {
    Kept kept = front_;
    for (int i = low_; i < end; ++i) kept.push_back(i);
    kept.insert(kept.end(), found_.rbegin(), found_.rend());
    return kept;
  }
  auto passes(const Kept& kept, const std::vector<Kept>& ahead) -> bool {
    return test_(kept, ahead);
  }

  /// Bisects the shortest prefix, then the shortest suffix of it: candidates shrink fast while they
  /// are large. The last element of the prefix and the first of the suffix are needed.
  void open() {
    const int end = bisect(0, count_, [&](int n) { return range(0, n); });
    const int length = bisect(0, end, [&](int n) { return range(end - n, end); });
    found_.push_back(end - 1);
    limit_ = end - 1;
    low_ = end - length;
    if (length > 1) front_.push_back(low_++);
    if (length == 1) low_ = limit_;
  }
  static auto range(int begin, int end) -> Kept {
    Kept kept;
    for (int i = begin; i < end; ++i) kept.push_back(i);
    return kept;
  }
  /// Smallest n in (bad, good] for which make(n) passes.
  template <class Make>
  auto bisect(int bad, int good, const Make& make) -> int {
    while (good - bad > 1) {
      const int middle = bad + (good - bad) / 2;
      const int lower = bad + (middle - bad) / 2;
      const int upper = middle + (good - middle) / 2;
      std::vector<Kept> ahead;
      if (lower > bad) ahead.push_back(make(lower));
      if (upper > middle) ahead.push_back(make(upper));
      (passes(make(middle), ahead) ? good : bad) = middle;
    }
    return good;
  }

  /// Finds the last needed element below limit_: everything from low_ to limit_ passes, nothing in
  /// between does not.
  void find_last() {
    int good = limit_;
    int bad = low_;
    for (int step = 1; good - step > low_; step *= 2) {
      const int end = good - step;
      std::vector<Kept> ahead;
      if (end - 2 * step > low_) ahead.push_back(with_middle(end - 2 * step));
      if (!passes(with_middle(end), ahead)) {
        bad = end;
        break;
      }
      good = end;
    }
    good = bisect(bad, good, [&](int end) { return with_middle(end); });
    found_.push_back(good - 1);
    limit_ = good - 1;
  }

  int count_;
  SubsetTest test_;
  Kept front_;              ///< the first needed element, if there are several
  std::vector<int> found_;  ///< needed ones from the end, descending
  int low_ = 0;             ///< elements in [low_, limit_) are undecided, others not needed
  int limit_ = 0;
};

}  // namespace assay
