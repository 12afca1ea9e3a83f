"""What an operator runs against a deployed stack. No part of it: nothing here is deployed."""
