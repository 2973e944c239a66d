"""What Claude asks of people, and how they answer: views, and the state behind them."""
