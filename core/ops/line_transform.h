// Discrete Fourier transforms of one length, several lines at a time.
#pragma once
#include <cstddef>
#include <vector>

namespace assay {

/// Unnormalised: X[k] = sum of x[j] exp(-+2 pi i j k / length), minus where it is forward. Any
/// length: by its prime factors, of which large ones p cost p operations per element. Stockham's
/// order (Govindaraju et al., High Performance Discrete Fourier Transforms on Graphics Processors,
/// 2008), which needs no reordering.
class LineTransform {
 public:
  /// Lines that are transformed at once: neighbours in memory, for the vectors of the machine.
  static constexpr std::size_t kLines = 8;
  LineTransform(std::size_t length, bool forward);
  /// Element j of line k stands at j * kLines + k.
  [[nodiscard]] auto real() -> double* { return real_.data(); }
  [[nodiscard]] auto imag() -> double* { return imag_.data(); }
  /// In place.
  void run();

 private:
  struct Pass {
    std::size_t radix = 2;
    std::size_t groups = 1;    ///< what is left of the length behind it
    std::size_t together = 1;  ///< product of the radices before it
  };
  void pass_of_two(const Pass& pass);
  void pass_of_four(const Pass& pass);
  void pass_of_any(const Pass& pass);

  std::size_t length_;
  double sign_;
  std::vector<Pass> passes_;
  std::vector<double> cos_, sin_;  ///< of 2 pi k / length; sines with the direction's sign
  std::vector<double> real_, imag_, next_real_, next_imag_;
  std::vector<double> sums_;  ///< of pass_of_any
};

}  // namespace assay
