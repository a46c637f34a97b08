// Which nodes of a box may have a value of at most `best`, given their classes. The readable twin is in
// kernels/screening.py.
#pragma once
#include "walk.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace shoal {

constexpr double ROUNDING = 1e-9; // a class is only refused if it fails by more than rounding can explain
constexpr double TIE = 1e-11;     // values that differ by less, relatively above 1, are looked at exactly

#if defined(__SIZEOF_INT128__)
__extension__ using Integer = __int128;
constexpr Integer LARGEST_WHOLE = Integer(1) << 62; // times a unit of at most 2^20 and a numerator below 2^40 it fits
#endif

// What a model asks of the proportions of sensitive values, given those of the release; `exact` if it is all it asks.
struct Proportions {
    double lower, upper_factor, upper_offset, distance, exact;
    int64_t numerator, denominator; // of the distance; 0 if only rounded
    bool bounds_values() const { return lower > 0.0 || upper_offset < 1.0; }
};

// Classes are suppressed until all that are left are as the first entry asks for, then as the second, and so on.
using Order = std::vector<Proportions>;

inline std::vector<Order> orders_of(int32_t orders, const int32_t *stages, const double *asked, const int64_t *fractions) {
    std::vector<Order> known(orders);
    for (int32_t i = 0; i < orders; ++i)
        for (int32_t stage = 0; stage < stages[i]; ++stage, asked += 5, fractions += 2)
            known[i].push_back({asked[0], asked[1], asked[2], asked[3], asked[4], fractions[0], fractions[1]});
    return known;
}

// What suppression costs more than keeping; infinite if too much is suppressed. Not `known` if more may be.
struct Excess {
    double cost = std::numeric_limits<double>::infinity();
    bool known = true;
};

// The nodes that may be at least as good as the best so far.
class Hunt {
  public:
    Hunt(int32_t number, const int32_t *steps, const double *floors, int64_t records, int64_t allowed, double scale,
         double best, int64_t *found, double *bounds)
        : steps_(steps, steps + number), taken_(number, 0), records_(records), allowed_(allowed), scale_(scale),
          best_(best), found_(found), bounds_(bounds) {
        for (int32_t d = 0; d < number; floors += steps[d++] + 1) floors_.push_back(floors);
    }

    // Go to a step of an attribute, and to the lowest ones of those after it; return whether that may be good enough.
    bool enter(size_t depth, size_t step) {
        std::fill(taken_.begin() + static_cast<std::ptrdiff_t>(depth), taken_.end(), 0);
        taken_[depth] = step;
        floor_ = 0.0;
        for (size_t d = 0; d < taken_.size(); ++d) floor_ += floors_[d][taken_[d]];
        return floor_ / scale_ <= best_;
    }

    bool beaten(int64_t lost, double excess) const { return lost > allowed_ || (floor_ + excess) / scale_ > best_; }

    // Write the node down. If its value is known, others have to be as good.
    void offer(const Excess &excess, int64_t lost) {
        if (std::isinf(excess.cost)) return;
        const double value = (floor_ + excess.cost) / scale_;
        int64_t node = 0;
        for (size_t d = 0; d < taken_.size(); ++d) node = node * (steps_[d] + 1) + static_cast<int64_t>(taken_[d]);
        found_[number_] = node, bounds_[number_++] = value;
        if (excess.known && lost < records_) best_ = std::min(best_, value + TIE * std::max(std::abs(value), 1.0));
    }

    // Leave out what has been beaten since, and return how many nodes there are.
    int64_t finish() {
        int64_t kept = 0;
        for (int64_t i = 0; i < number_; ++i)
            if (bounds_[i] <= best_) found_[kept] = found_[i], bounds_[kept++] = bounds_[i];
        return kept;
    }

  protected:
    std::vector<int64_t> steps_;
    std::vector<size_t> taken_; // steps of the node
    const int64_t records_, allowed_;
    const double scale_;
    double best_, floor_ = 0.0;
    std::vector<const double *> floors_;
    int64_t *found_;
    double *bounds_;
    int64_t number_ = 0;
};

// A class: where its rows are, and how far it was from the release when the release had moved by `drift`.
struct Class {
    uint32_t start, end;
    int64_t size;
    double cost, distance, drift;
};

// A class that is too far from all others: where its rows are, and the mean of the weights that say so.
struct Far {
    uint32_t start;
    double size, distance, weight;
};

// Records that finer nodes suppress as well, and what that costs more than keeping them.
struct Forced {
    int64_t records = 0;
    double cost = 0.0;
};

// Follows what becomes of the classes of a node. `Histograms` knows their sensitive values.
template <class Histograms> class Removal {
  public:
    Removal(Histograms &histograms, std::vector<Order> orders, double loss)
        : histograms_(histograms), orders_(std::move(orders)), loss_(loss),
          foresees_(histograms.has_weights() && std::all_of(orders_.begin(), orders_.end(), ends_exactly)) {}

    // Return the least cost of suppression that an order may lead to, when `lost` records are suppressed already.
    template <class Beaten> Excess least(std::vector<Class> &large, int64_t lost, double excess, Beaten beaten) {
        Excess least;
        forced_ = {};
        if (beaten(lost, excess)) return least;
        measure(large);
        if (foresees_ && (++idle_ < PATIENCE || idle_ % PATIENCE == 0)) force(lost, excess, beaten);
        if (beaten(lost + forced_.records, excess + forced_.cost)) return least;
        for (const Order &order : orders_) {
            lost_ = lost, excess_ = excess, open_ = order.empty();
            if (refuted_at_once(order, beaten)) continue;
            lost_ = lost, excess_ = excess;
            left_ = large_, totals_ = whole_, drift_ = 0.0;
            if (!order.empty()) histograms_.compare(totals_);
            if (refuted(order, beaten)) continue;
            if (excess_ < least.cost) least_lost_ = lost_;
            least = {std::min(least.cost, excess_), least.known && !open_};
        }
        return least;
    }

    // How many records are suppressed where that costs least.
    int64_t lost() const { return least_lost_; }

    // What is suppressed beside small classes at this node and at all finer ones.
    const Forced &forced() const { return forced_; }

  private:
    enum class Verdict { kept, refused, open };

    static constexpr int64_t PATIENCE = 16; // after so many nodes in vain, only one in so many is tried

    // Note how frequent the values are before any order removes classes, and how far the classes are from that.
    void measure(std::vector<Class> &large) {
        large_.swap(large);
        if (std::all_of(orders_.begin(), orders_.end(), [](const Order &order) { return order.empty(); })) return;
        histograms_.count(large_, whole_);
        histograms_.compare(whole_);
        if (std::any_of(orders_.begin(), orders_.end(), [](const Order &order) { return asks_for_distance(order); }))
            histograms_.measure(large_);
    }

    static bool ends_exactly(const Order &order) {
        return !order.empty() && !order.back().bounds_values() && order.back().exact > 0.0;
    }

    // A distance d from C to all classes here is W less the mean of some weights in C, W being their mean over all; weights
    // are from 0 to 1. A finer node that leaves out the share s of these records has a mean of at least (W - s) / (1 - s), and
    // each class that it keeps one of at least that less t. What it keeps of C has a sum of weights of at most |C| (W - d):
    // no more than |C| (W - d) / ((W - s) / (1 - s) - t) records. The more is left out, the less has to be: it is sure that
    // more than x records are, if leaving out x is not enough.
    template <class Beaten> void force(int64_t lost, double excess, Beaten beaten) {
        double allowed = 0.0, least = loss_, records = 0.0;
        for (const Order &order : orders_) allowed = std::max(allowed, order.back().distance + ROUNDING);
        far_.clear();
        for (const Class &each : large_) {
            records += static_cast<double>(each.size), least = std::min(least, loss_ - each.cost);
            if (each.distance > allowed + ROUNDING) far_.push_back({each.start, static_cast<double>(each.size), each.distance, 0.0});
        }
        const auto forced = [&](double sure) {
            return Forced{static_cast<int64_t>(sure), std::max(least, 0.0) * sure * (1.0 - ROUNDING)};
        };
        const auto matters = [&](double sure) {
            const Forced more = forced(sure);
            return beaten(lost + more.records, excess + more.cost);
        };
        // Finer nodes cost less: unless so much is left out that it matters here, it does not matter there.
        if (far_.empty() || !matters(records)) return;
        histograms_.weigh(far_);
        const double needed = most(records, [&](double left_out) { return !matters(left_out); });
        if (enough(needed, records, allowed)) return;
        forced_ = forced(most(records, [&](double left_out) { return !enough(left_out, records, allowed); }));
        idle_ = 0;
    }

    // The greatest number up to which something holds, less at most 1 / 512 of all.
    template <class Holds> static double most(double records, Holds holds) {
        double found = 0.0;
        for (double step = records / 2; step >= records / 512; step /= 2)
            if (holds(found + step)) found += step;
        return found;
    }

    // Whether leaving out so many records may be enough.
    bool enough(double left_out, double records, double allowed) const {
        const double share = left_out / records;
        double needed = 0.0;
        for (const Far &each : far_) {
            const double sum = each.size * std::max(each.weight - each.distance, 0.0);
            const double mean = (each.weight - share) / (1.0 - share) - allowed;
            if (mean * each.size > sum) needed += each.size - sum / mean;
        }
        return needed <= left_out * (1.0 + ROUNDING) + ROUNDING;
    }

    static bool asks_for_distance(const Order &order) {
        return std::any_of(order.begin(), order.end(), [](const Proportions &asked) { return !asked.bounds_values(); });
    }

    // Whether what is too far from all is so much that the node is beaten.
    template <class Beaten> bool refuted_at_once(const Order &order, Beaten beaten) {
        if (order.empty() || order.front().bounds_values()) return false;
        const double limit = order.front().distance + 2 * ROUNDING;
        for (const Class &each : large_)
            if (each.distance > limit) suppress(each);
        return beaten(lost_, excess_);
    }

    // Whether an order suppresses so much that the node is beaten. Once rounding leaves a class open it is not known
    // what the others are compared with next, and what is suppressed so far must do.
    template <class Beaten> bool refuted(const Order &order, Beaten beaten) {
        for (const Proportions &asked : order) {
            for (bool removed = true; removed;) {
                open_ = require(asked) || !(asked.exact > 0.0);
                size_t kept = 0;
                removed_.clear();
                for (Class &each : left_) {
                    const Verdict verdict = judge(each, asked);
                    open_ = open_ || verdict == Verdict::open;
                    if (verdict == Verdict::refused)
                        suppress(each), removed_.push_back(each);
                    else if (&left_[kept++] != &each)
                        left_[kept - 1] = each;
                }
                left_.resize(kept);
                if (beaten(lost_, excess_)) return true;
                if (open_) return false;
                removed = !removed_.empty();
                for (const Class &each : removed_) histograms_.count(each, totals_, -1);
                if (removed) move();
            }
        }
        return false;
    }

    void suppress(const Class &each) {
        lost_ += each.size;
        excess_ += static_cast<double>(each.size) * (loss_ - each.cost);
    }

    // Compare with what is left from now on; no class's distance changes by more than the release itself has moved.
    void move() {
        const double moved = histograms_.compare(totals_);
        drift_ += moved;
        if (std::isfinite(moved)) return;
        drift_ = 0.0;
        histograms_.measure(left_);
    }

    // Count the values that are required; return whether one is too rare to tell.
    bool require(const Proportions &asked) {
        required_ = 0;
        bool open = false;
        if (asked.lower > 0.0)
            for (const double quota : histograms_.quotas()) {
                const double wanted = asked.lower * quota;
                required_ += wanted > ROUNDING;
                open = open || (wanted > 0.0 && wanted <= ROUNDING);
            }
        return open;
    }

    Verdict judge(Class &each, const Proportions &asked) {
        if (asked.bounds_values()) return judge_values(each, asked);
        const double known = each.distance - asked.distance, doubt = drift_ - each.drift + 2 * ROUNDING;
        if (known + doubt < 0.0) return Verdict::kept;
        if (known - doubt > 0.0) return Verdict::refused;
        if (each.drift != drift_) each.distance = histograms_.distance(each), each.drift = drift_;
        const Verdict found = verdict(each.distance - asked.distance);
        return found == Verdict::open ? exactly(each, asked) : found;
    }

    // Decide in integers what rounding leaves open.
    Verdict exactly(const Class &each, const Proportions &asked) const {
#if defined(__SIZEOF_INT128__)
        const Integer whole = Integer(each.size) * histograms_.records();
        if (asked.denominator && whole < LARGEST_WHOLE)
            return histograms_.work(each) * asked.denominator > histograms_.unit() * whole * asked.numerator
                       ? Verdict::refused
                       : Verdict::kept;
#endif
        return Verdict::open;
    }

    Verdict judge_values(const Class &each, const Proportions &asked) const {
        double excess = -1.0;
        int64_t present = 0;
        const std::vector<double> &quotas = histograms_.quotas();
        histograms_.each(each, [&](uint64_t value, int64_t count) {
            if (!count) return;
            const double q = quotas[value], p = static_cast<double>(count) / static_cast<double>(each.size);
            excess = std::max({excess, p - (asked.upper_factor * q + asked.upper_offset), asked.lower * q - p});
            present += asked.lower * q > ROUNDING;
        });
        if (present < required_) return Verdict::refused;
        return verdict(excess);
    }

    static Verdict verdict(double excess) {
        return excess > ROUNDING ? Verdict::refused : excess > -ROUNDING ? Verdict::open : Verdict::kept;
    }

    Histograms &histograms_;
    const std::vector<Order> orders_;
    const double loss_;
    const bool foresees_; // whether finer nodes are known to suppress something as well
    int64_t lost_ = 0, least_lost_ = 0; // records in classes that are suppressed for sure
    double excess_ = 0.0;               // what their suppression costs more than keeping them
    bool open_ = false;
    std::vector<Class> large_, left_, removed_;
    std::vector<Far> far_;
    Forced forced_;
    int64_t idle_ = 0; // nodes since finer ones were ruled out
    std::vector<int64_t> whole_, totals_; // records of each value: of all large classes, of those that are left
    double drift_ = 0.0;                  // how far the proportions have moved since the first comparison
    int64_t required_ = 0;
};

} // namespace shoal
