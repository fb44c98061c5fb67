// Tables that only list what a trace holds: problems, proofs, environment, compilations.
#pragma once
#include <QComboBox>

#include "gui/data/problem_groups.h"
#include "gui/views/list_view.h"
#include "gui/views/storage_picture.h"

namespace assay {

/// What was not read, not checked or assumed, and how often: what is said alike of many places is
/// one row, its places are the details.
class ProblemsView : public ListView {
  Q_OBJECT
 public:
  explicit ProblemsView(Desk& desk);
  /// Each problem on its own.
  auto write_csv(const QString& path) -> bool override;

 protected:
  void fetch() override;
  void chosen(const TextRow& row) override;

 private:
  std::vector<ProblemGroup> groups_;
};

/// Conditions decided for all sizes: refuted first, with the witness on the storage map.
class ProofsView : public ListView {
  Q_OBJECT
 public:
  explicit ProofsView(Desk& desk);
  void load(Store* store) override;
  void follow(const Cursor& cursor) override;

 protected:
  void fetch() override;
  void chosen(const TextRow& row) override;

 private:
  struct Proof {
    Cursor cursor;
    std::string kind, verdict, tier, condition, witness, reason, facts, place, node;
    std::int64_t line = 0;
  };
  void receive(const TraceAnswer& answer);
  void fill();
  /// The row of the cursor's proof, once it is there.
  void select();
  void look_into(const Proof& proof);
  void show(const Proof& proof, const std::vector<std::int64_t>& guards);

  std::vector<Proof> proofs_;
  std::size_t asked_ = 0;
  TraceId shown_ = 0;  ///< the proof whose details are seen
  QComboBox* kinds_;
  QLabel* counts_;
  StoragePicture* picture_;
  Desk at_witness_;  ///< a desk whose sizes are those of the witness
};

/// Where the capture was made, and what differs from this machine.
class EnvironmentView : public ListView {
  Q_OBJECT
 public:
  explicit EnvironmentView(Desk& desk);
  /// The file that the user opened: of a bundle its contents are listed.
  void set_file(const QString& path) { path_ = path; }

 protected:
  void fetch() override;

 private:
  QString path_;
};

/// Attempts at compilations of a log with their stages.
class CompileView : public ListView {
  Q_OBJECT
 public:
  explicit CompileView(Desk& desk);

 protected:
  void fetch() override;
  void chosen(const TextRow& row) override;

 private:
  void build(const TraceAnswer& compilations, const TraceAnswer& graphs, const TraceAnswer& stages);
  std::map<std::int64_t, QString> details_;
};

}  // namespace assay
